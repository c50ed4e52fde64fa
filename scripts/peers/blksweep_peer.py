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

import decoding


def end_with_parent():
    """In a process that a peer forks: it ends however its parent does, also by SIGKILL."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Peer:
    def __init__(self, decodes=False):
        """The question of one run; `decodes`: whether it can do what stands in decoding.WORDS."""
        with open(sys.argv[1], encoding="utf-8") as file:
            question = json.load(file)
        self.root, self.form, self.variant = question["root"], question["form"], question["variant"]
        rest, self.decode = decoding.split(self.variant)
        if self.decode and not decodes:
            sys.exit(f"'{self.variant}': it decodes nothing; torch and blksweep do")
        self.variant = rest
        self.samples, self.epochs = question["samples"], question["epochs"]
        self.batch, self.workers, self.prefetch = question["batch"], question["workers"], question["prefetch"]
        self.compute_ns, self.seed = question["compute_ns"], question["seed"]
        self.hashed, self.told = set(question["hash"]), []
        self.free = 0  # since when the loop has no batch
        if self.decode == "jpeg":
            decoding.need_pillow()
        self.decoders = max(1, self.workers) if self.decode == "jpeg" else 0
        self.of_decoding = decoding.Told(self.decoders) if self.decode else None

    def ready(self, loader, form=False):
        """Everything is imported and started, nothing of the data was read; returns when it may be."""
        print(json.dumps({"event": "ready", "loader": loader, "form": form}), flush=True)
        if sys.stdin.readline() != "go\n":
            sys.exit(0)  # it was only to be seen whether we work here
        self.free = time.monotonic_ns()

    def deliver(self, samples, parts, notes=None):
        """A batch is there: the numbers of its samples, the bytes of each. Computes with it. `notes`: where parts were
        decoded, what decoding.decoded() noted of each."""
        ready = used = time.monotonic_ns()
        if notes is None:
            hashes = {i: xxhash.xxh3_64_hexdigest(part) for i, part in zip(samples, parts) if i in self.hashed}
            size = sum(map(len, parts))
        else:
            hashes = {i: text for i, (_, text, _, _) in zip(samples, notes) if i in self.hashed}
            size = sum(note[0] for note in notes)
            self.of_decoding.spans += [note[2:] for note in notes]
        if self.of_decoding:
            for i in hashes:
                self.of_decoding.hash_of(i, parts[samples.index(i)])
        if self.compute_ns:
            until = ready + self.compute_ns[min(len(self.told), len(self.compute_ns) - 1)]
            while (used := time.monotonic_ns()) < until:
                time.sleep((until - used) / 1e9)
        if self.of_decoding:
            self.of_decoding.waits.append((self.free, ready))
        self.told.append((ready, used, samples, size, hashes))
        self.free = time.monotonic_ns()

    def loop_ended(self):
        """What a loop does behind its last batch is of its time, too."""
        if self.told:
            ready, _, *more = self.told[-1]
            self.told[-1] = (ready, time.monotonic_ns(), *more)

    def end(self):
        """The last batch was used. What was noted is told only now: it costs the epoch nothing."""
        print('{"event": "end"}', flush=True)
        for ready, used, samples, size, hashes in self.told:
            print(json.dumps({"event": "batch", "ready_ns": ready, "used_ns": used, "samples": samples,
                              "bytes": size, "hashes": hashes}))
        if self.of_decoding:
            print(json.dumps(self.of_decoding.event()))

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
