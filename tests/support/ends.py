#!/usr/bin/python3
"""ends.py BLKSWEEP CATALOG DISK FOLDER COUNT [SEED]: ends a sweep that has borrowed the queue of DISK.

COUNT times, by each of the ways in turn and at random moments: the queue must be as before, or what is
said must name `blksweep node restore`, which then gives it back. Prints a line for each way; exit 1 when
one did not hold.
"""
import collections
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

PATIENCE_S = 20
SETTINGS = ("scheduler", "read_ahead_kb", "nr_requests", "nomerges")


class Sweep:
    def __init__(self, program, catalog, disk, folder):
        self.program, self.catalog, self.folder = program, catalog, pathlib.Path(folder)
        self.queue = pathlib.Path("/sys/block", disk, "queue")
        self.pids = []
        self.before = self.state()
        self.number = 0

    def state(self):
        # Of our own sweeps: others' are theirs.
        groups = [str(p) for pid in self.pids for p in pathlib.Path("/sys/fs/cgroup").rglob(f"blksweep-{pid}-*")]
        return {"cgroups": groups, **{name: (self.queue / name).read_text().strip() for name in SETTINGS}}

    def borrowed(self):
        return self.state() != self.before

    def start(self, db=None, stdout=subprocess.DEVNULL, stderr=None, prepare=None, options=()):
        self.number += 1
        self.said = self.folder / f"said-{self.number}"
        command = [self.program, "run", "--catalog", self.catalog, "--scheduler", "mq-deadline", "--read-ahead",
                   "64KiB", "--nr-requests", "48", "--buffered", "--cache", "warm", "--compute", "5ms", "--batch", "20",
                   "--repeats", "30", "--no-probe", "--no-ceiling", "--memory-limit", "512MiB",
                   "--db", str(db or self.folder / f"{self.number}.db"), *options]
        with self.said.open("w") as said:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr or said,
                                       preexec_fn=prepare)
        self.pids.append(process.pid)
        return process

    def wait_borrowed(self, process):
        end = time.monotonic() + PATIENCE_S
        while not self.borrowed() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)

    def judge(self, process):
        """What did not hold, or None."""
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            subprocess.run([self.program, "--quiet", "node", "restore"], stdout=subprocess.DEVNULL, check=False)
            return f"had not ended after {PATIENCE_S} s"
        if not self.borrowed():
            return None
        said = self.said.read_text()
        subprocess.run([self.program, "--quiet", "node", "restore"], stdout=subprocess.DEVNULL, check=False)
        if self.borrowed():
            return "`node restore` did not give it back: " + said[-300:]
        if "node restore" not in said:
            return f"left behind without a word (status {process.returncode}): " + said[-300:]
        return None


def by_signals(*numbers):
    def end(sweep, draw):
        process = sweep.start()
        if draw.random() < 0.8:
            sweep.wait_borrowed(process)
        time.sleep(draw.random() * 0.6)
        for number in numbers:
            if process.poll() is None:
                process.send_signal(number)
                time.sleep(draw.random() * 0.03)
        return process
    return end


def fill(pipe):
    """So that who writes to it waits."""
    with open(f"/proc/self/fd/{pipe}", "wb", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as end:
        while end.write(b"." * 512) or end.write(b"."):
            pass


def wait_ending(process, number):
    """Until it blocks this signal: it is on its way out."""
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        masks = [int(line.split()[1], 16) for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status")
                 for line in task.read_text().splitlines() if line.startswith("SigBlk:")]
        if any(mask >> (number - 1) & 1 for mask in masks):
            return
        time.sleep(0.005)


def more_meanwhile(numbers, more):
    """It ends by the first of these; the others come before it has said so, which takes until somebody reads it."""
    def end(sweep, draw):
        read, write = os.pipe()
        process = sweep.start(stderr=write)
        sweep.wait_borrowed(process)
        fill(write)
        os.close(write)
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.02)
        wait_ending(process, numbers[-1])
        for number in more:
            process.send_signal(number)
            time.sleep(0.02)
        with open(read, "rb") as left, sweep.said.open("w") as said:
            subprocess.Popen(["cat"], stdin=left, stdout=said)
        return process
    return end


def pipe_closed(sweep, draw):
    process = sweep.start(stdout=subprocess.PIPE, options=("--json",))
    sweep.wait_borrowed(process)
    time.sleep(draw.random() * 0.3)
    process.stdout.close()
    process.send_signal(signal.SIGINT)  # it writes its answer at the end
    return process


def with_limit(which, least, most):
    def end(sweep, draw):
        limit = draw.randrange(least, most)
        return sweep.start(prepare=lambda: resource.setrlimit(which, (limit, limit)))
    return end


def process_group():
    """A cgroup of our own with the pids controller: of version 1, else 2."""
    hierarchies = [pathlib.Path("/sys/fs/cgroup", name) for name in ("pids", "")]
    return next(h for h in hierarchies if (h / "cgroup.procs").exists()) / f"blksweep-test-ends-{os.getpid()}"


def few_processes(sweep, draw):
    group = process_group()
    group.mkdir(exist_ok=True)
    (group / "pids.max").write_text(str(draw.randrange(1, 10)))

    def enter():
        (group / "cgroup.procs").write_text(str(os.getpid()))
    return sweep.start(prepare=enter)


def full_disk(sweep, draw):
    small = sweep.folder / "small"
    small.mkdir(exist_ok=True)
    subprocess.run(["umount", str(small)], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=0755,size={draw.randrange(1, 80) * 4096 + 300000}", "tmpfs", str(small)],
                   check=True)
    return sweep.start(db=small / "r.db")


WAYS = {
    "SIGINT": by_signals(signal.SIGINT), "SIGTERM": by_signals(signal.SIGTERM), "SIGHUP": by_signals(signal.SIGHUP),
    "SIGPIPE": by_signals(signal.SIGPIPE, signal.SIGTERM), "a closed pipe": pipe_closed,
    "two signals": by_signals(signal.SIGINT, signal.SIGTERM), "twice SIGINT": by_signals(signal.SIGINT, signal.SIGINT),
    "SIGSEGV": by_signals(signal.SIGSEGV), "SIGABRT": by_signals(signal.SIGABRT), "SIGQUIT": by_signals(signal.SIGQUIT),
    "SIGUSR1": by_signals(signal.SIGUSR1), "SIGXFSZ": with_limit(resource.RLIMIT_FSIZE, 1000, 400_000),
    "two and more": more_meanwhile((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGINT)),
    "SIGSEGV twice": more_meanwhile((signal.SIGSEGV,), (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM)),
    "ulimit -v": with_limit(resource.RLIMIT_AS, 60 << 20, 700 << 20),
    "ulimit -n": with_limit(resource.RLIMIT_NOFILE, 6, 60), "pids.max": few_processes, "ENOSPC": full_disk,
}


def main(argv):
    program, catalog, disk, folder, count = argv[:5]
    draw = random.Random(int(argv[5]) if len(argv) > 5 else 1)
    sweep = Sweep(program, catalog, disk, folder)
    ends, faults = collections.Counter(), []
    for i in range(int(count)):
        name = list(WAYS)[i % len(WAYS)]
        fault = sweep.judge(WAYS[name](sweep, draw))
        ends[name] += 1
        if fault:
            faults.append(f"{name}: {fault}")
    subprocess.run(["umount", str(sweep.folder / "small")], stderr=subprocess.DEVNULL, check=False)
    if process_group().exists():
        process_group().rmdir()
    print(", ".join(f"{name} {n}" for name, n in ends.items()))
    for fault in faults:
        print("FAILED:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
