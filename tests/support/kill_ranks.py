#!/usr/bin/python3
"""Kills a rank of blksweep-mpi at random moments, and looks what the others make of it.

usage: kill_ranks.py [--times N] [--ranks N] [--victim RANK] [--keepers | --stop | --tell] [--seed N] [--db FILE] PROGRAM DATA
  --keepers   kills the process that mpirun started, not its child
  --tell      tells mpirun to end instead (SIGTERM); or, as it does, all keepers, rank 0's 20 ms behind the others
  --stop      stops the rank instead (SIGSTOP): others wait for it, for as long as --patience says

Each time: all end within 10 s, mpirun with 1 or 3 (of a keeper: with any status but 0); the line on stderr names
the rank; the answer, where ranks had begun, is one JSON document with a row of each rank; no process is left.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

LIMIT_S = 10


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(p) for p in file.read().split()]
    except OSError:
        return []


def rank_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            names = dict(e.split(b"=", 1) for e in file.read().split(b"\0") if b"=" in e)
        return int(names[b"OMPI_COMM_WORLD_RANK"])
    except (OSError, KeyError):
        return None


def pids_of(mpirun, keepers):
    """rank -> pid"""
    found = {}
    for keeper in children(mpirun):
        if rank_of(keeper) is not None:
            mine = [keeper] if keepers else children(keeper)
            if mine:
                found[rank_of(keeper)] = mine[0]
    return found


def reads(pid):
    """The rank says so in its name."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().endswith(" reads\n")
    except OSError:
        return False


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check(options, reading, victim, status, out, err):
    # Before all read no keeper may know of the others yet; mpirun says it then.
    known = reading or not options.keepers
    told = [line for line in err.splitlines() if line.startswith("blksweep-mpi: " if known else ("blksweep-mpi: ", "mpirun noticed"))]
    who = "told to end" if options.tell else f"rank {victim}"
    assert any(who + end in line for line in told for end in " :"), f"{who} is not said: {err}"
    # Open MPI 4.1 with its PMIx now and then crashes as the last thing that mpirun does, when all have ended.
    crashed = status < 0 and "PMIx_server_finalize" in err
    assert crashed or (status != 0 if options.keepers or options.tell else status in (1, 3)), f"status {status}: {err}"
    if not out or not reading:
        return "not all had begun"
    documents = [json.loads(line) for line in out.splitlines()]
    rows = [row for document in documents for row in document["rows"]]
    fault = documents[0]["fault"]
    assert not any(document["complete"] for document in documents), out
    if options.keepers and victim == 0:  # each of the others has told its own row
        assert len(rows) == options.ranks - 1, f"rows of {sorted(row['rank'] for row in rows)} only: {err}"
    else:
        assert len(documents) == 1 and len(rows) == options.ranks, out
        assert fault["lost"] != options.tell and (options.tell or fault["rank"] == victim), out
        assert rows[fault["rank"]]["state"] == ("ended" if options.tell else "lost"), out
    return f"{sum(row['samples'] for row in rows)} samples told"


def wait_for_reading(job, options):
    while job.poll() is None:
        ranks = pids_of(job.pid, False)
        if len(ranks) == options.ranks and all(reads(pid) for pid in ranks.values()):
            return
        time.sleep(0.01)


def tell_all(mpirun, rng):
    if rng.random() < 0.5:
        os.kill(mpirun, signal.SIGTERM)
        return
    keepers = pids_of(mpirun, True)
    for rank in sorted(keepers, reverse=True):
        if rank == 0:
            time.sleep(0.02)
        os.kill(keepers[rank], signal.SIGTERM)


def once(options, reading, wait_s, rng):
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "vader,self", "--mca", "plm", "isolated"]
    command += ["--allow-run-as-root"] if os.getuid() == 0 else []
    split = rng.choice(["sample", "batch", "shard", "copy"])
    command += ["-n", str(options.ranks), options.program, "--json", "--data", options.data, "--epochs", "300", "--compute", "2ms", "--split", split,
                "--batch", str(4 * options.ranks if split == "batch" else 4), "--barrier", rng.choice(["batch", "epoch", "none"]),
                "--prefetch", "1"]
    command += ["--db", options.db] if options.db else []
    if options.stop:
        command[command.index("--barrier") + 1] = "batch"
        command += ["--patience", "4s"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        if reading:
            wait_for_reading(job, options)
        time.sleep(wait_s)
        pids = {}
        while len(pids) < options.ranks and job.poll() is None:
            pids = pids_of(job.pid, options.keepers)
        everybody = list(pids.values()) + list(pids_of(job.pid, not options.keepers).values())
        assert pids, f"it ended before: {job.communicate()}"
        victim = options.victim if options.victim in pids else rng.choice(sorted(pids))
        if options.tell:
            tell_all(job.pid, rng)
        else:
            os.kill(pids[victim], signal.SIGSTOP if options.stop else signal.SIGKILL)
        begin = time.monotonic()
        try:
            out, err = job.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            seen = subprocess.run(["ps", "-eo", "pid,ppid,stat,wchan:24,args"], capture_output=True, text=True, check=False).stdout
            job.kill()
            there = "\n".join(line[:150] for line in seen.splitlines() if "mpi" in line or "orted" in line)
            raise AssertionError(f"still there {LIMIT_S} s after rank {victim} was killed:\n{there}") from None
        took = time.monotonic() - begin
        try:
            what = check(options, reading, victim, job.returncode, out, err)
        except AssertionError as wrong:
            raise AssertionError(f"rank {victim}, after {'reading for ' if reading else ''}{wait_s:.2f} s, ended {took:.2f} s later: {wrong}") from None
    # A rank that dies with its keeper may take a moment more: its reads in flight end first.
    while (left := [pid for pid in everybody if alive(pid)]) and time.monotonic() - begin < LIMIT_S:
        time.sleep(0.05)
    assert not left, f"processes that are left: {left}"
    print(f"rank {victim} of {options.ranks} {'stopped' if options.stop else 'told to end' if options.tell else 'killed'} after {'reading for ' if reading else ''}{wait_s:.2f} s: ended {took:.2f} s later with {job.returncode}; {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--keepers", action="store_true")
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--victim", type=int, default=None)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--db", default=None, help="of the program")
    parser.add_argument("program")
    parser.add_argument("data")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    for _ in range(options.times):
        reading = options.stop or options.tell or rng.random() < 0.7
        once(options, reading, rng.uniform(0, 1), rng)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as wrong:
        sys.exit(f"kill_ranks: {wrong}")
