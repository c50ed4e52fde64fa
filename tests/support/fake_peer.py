#!/usr/bin/python3 -BEs
"""A peer without any library, whose variant says what is wrong with it: --peer PATH:VARIANT (tests/cli/peers.sh)."""

import json
import os
import subprocess
import sys
import time

question = json.load(open(sys.argv[1], encoding="utf-8"))
fault = question["variant"]
root, samples = question["root"], question["samples"]


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def read(i):
    path, offset, length = samples[i]
    with open(os.path.join(root, path), "rb") as file:
        file.seek(offset)
        return file.read(length)


if fault == "unable":
    print("it needs a thing that is not here", file=sys.stderr)
    sys.exit(77)
made = ""
if fault in ("form", "small"):
    made = "" if os.path.exists(question["form"]) else ", made its form"
    os.makedirs(question["form"], exist_ok=True)
    with open(os.path.join(question["form"], "all"), "wb") as file:
        file.write(b"".join(map(read, range(len(samples) if fault == "form" else 1))))
    os.sync()
held = [read(i) for i in range(len(samples))] if fault in ("memory", "small") else None
where = "blksweep" in open("/proc/self/cgroup").read()
say("ready", loader=f"cpus {sorted(os.sched_getaffinity(0))} limited {where}{made}", form=fault in ("form", "small"))
if sys.stdin.readline() != "go\n":
    sys.exit()

if fault == "rewrites":
    with open(os.path.join(root, samples[0][0]), "r+b") as file:
        file.write(b"other")
if fault == "dies":
    sys.exit("ValueError: it had enough")
if fault == "garbage":
    print("loading \033[2J...", flush=True)
if fault in ("hangs", "leaves", "waits"):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=fault != "waits", stdout=subprocess.DEVNULL)
    with open(os.path.join(os.path.dirname(root), "left"), "w") as file:
        file.write(str(child.pid))
if fault in ("hangs", "waits"):
    time.sleep(1000)

number = 0
for order in question["epochs"]:
    size_of_batch = 7 if fault == "small-batches" else question["batch"]
    for at in range(0, len(order), size_of_batch):
        numbers = order[at:at + size_of_batch]
        data = [held[i] if held else read(i) for i in numbers]
        size = sum(map(len, data))
        if fault == "bytes" and number == 1:
            size += 1
        if fault == "twice" and number == 1:
            numbers[0] = numbers[1]
        ready = time.monotonic_ns()
        if question["compute_ns"] and fault != "idle":
            time.sleep(question["compute_ns"][number] / 1e9)
        hashes = {i: "0" * 16 for i in numbers if i in question["hash"]} if fault == "hash" else {}
        if fault != "missing" or number != 1:
            say("batch", ready_ns=ready, used_ns=time.monotonic_ns(), samples=numbers, bytes=size, hashes=hashes)
        number += 1
say("end")
