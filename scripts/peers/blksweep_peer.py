"""What our peers share: the protocol of docs/peers.md, and batches read ahead by threads."""

import collections
import concurrent.futures
import ctypes
import json
import os
import shutil
import signal
import sys
import time

import xxhash


def end_with_parent():
    """In a process that a peer forks: it ends however its parent does, also by SIGKILL."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Peer:
    def __init__(self):
        """The question of one run."""
        with open(sys.argv[1], encoding="utf-8") as file:
            question = json.load(file)
        self.root, self.form, self.variant = question["root"], question["form"], question["variant"]
        self.samples, self.epochs = question["samples"], question["epochs"]
        self.batch, self.workers, self.prefetch = question["batch"], question["workers"], question["prefetch"]
        self.compute_ns, self.seed = question["compute_ns"], question["seed"]
        self.hashed, self.told = set(question["hash"]), []

    def ready(self, loader, form=False):
        """Everything is imported and started, nothing of the data was read; returns when it may be."""
        print(json.dumps({"event": "ready", "loader": loader, "form": form}), flush=True)
        if sys.stdin.readline() != "go\n":
            sys.exit(0)  # it was only to be seen whether we work here

    def deliver(self, samples, parts):
        """A batch is there: the numbers of its samples, the bytes of each. Computes with it."""
        ready = used = time.monotonic_ns()
        hashes = {i: xxhash.xxh3_64_hexdigest(part) for i, part in zip(samples, parts) if i in self.hashed}
        if self.compute_ns:
            until = ready + self.compute_ns[min(len(self.told), len(self.compute_ns) - 1)]
            while (used := time.monotonic_ns()) < until:
                time.sleep((until - used) / 1e9)
        self.told.append((ready, used, samples, sum(map(len, parts)), hashes))

    def end(self):
        """The last batch was used. What was noted is told only now: it costs the epoch nothing."""
        print('{"event": "end"}', flush=True)
        for ready, used, samples, size, hashes in self.told:
            print(json.dumps({"event": "batch", "ready_ns": ready, "used_ns": used, "samples": samples,
                              "bytes": size, "hashes": hashes}))

    def read(self, index):
        """A sample from its file."""
        path, offset, size = self.samples[index]
        with open(os.path.join(self.root, path), "rb") as file:
            if offset:
                file.seek(offset)
            return file.read(size)

    def batches(self, order):
        return [order[at:at + self.batch] for at in range(0, len(order), self.batch)]

    def made(self, make):
        """The folder of the data in a form of our own: make(folder), unless it is there already."""
        if self.form is None:
            sys.exit("it reads the data in a form of its own: name a folder for it with --peer-data")
        if not os.path.isdir(self.form):
            new = f"{self.form}.{os.getpid()}"
            os.mkdir(new)
            try:
                make(new)
                os.sync()
                os.rename(new, self.form)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
        return self.form

    def by_threads(self, read, batches):
        """Yields (batch, read(batch)): a batch is read by one of `workers` threads, which are `prefetch` ahead each."""
        if self.workers == 0:
            yield from ((batch, read(batch)) for batch in batches)
            return
        waiting, todo = collections.deque(), iter(batches)
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            while True:
                while len(waiting) < self.workers * max(1, self.prefetch) and (batch := next(todo, None)) is not None:
                    waiting.append((batch, pool.submit(read, batch)))
                if not waiting:
                    return
                batch, parts = waiting.popleft()
                yield batch, parts.result()
