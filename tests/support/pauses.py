#!/usr/bin/python3
"""pauses.py: was a CPU held while something was measured? Until SIGTERM; then prints nanoseconds, of the CPU that was held longest.

On each CPU a process above all others of this machine asks to be woken every millisecond. What it is late by, from one
millisecond on, nobody here took: the hypervisor did, or an interrupt. Needs root. Cost: about 1 % of a CPU.
"""
import os
import signal
import sys
import time

PERIOD_NS = 1_000_000


def watch(cpu: int, answer: int) -> None:
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    held, ended = 0, []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while not ended:
        begin = time.monotonic_ns()
        time.sleep(PERIOD_NS / 1e9)
        late = time.monotonic_ns() - begin - PERIOD_NS
        held += late if late >= PERIOD_NS else 0
    os.write(answer, f"{held}\n".encode())


def main() -> int:
    source, answer = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    watchers = []
    for cpu in os.sched_getaffinity(0):
        pid = os.fork()
        if pid == 0:
            os.close(source)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            watch(cpu, answer)
            os._exit(0)
        watchers.append(pid)
    os.close(answer)
    signal.sigwait({signal.SIGTERM})
    for pid in watchers:
        os.kill(pid, signal.SIGTERM)
    with os.fdopen(source) as answers:
        print(max(int(line) for line in answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
