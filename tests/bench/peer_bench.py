#!/usr/bin/python3
"""Reads what `run --json` printed, for peer_bench.sh: peer_bench.py best | compare"""

import collections
import json
import statistics
import sys


def name_of(cell):
    if cell["peer"]:
        return f"{cell['peer']} workers {cell['peer-workers']}"
    return " + ".join(cell[key] for key in ("order", "merge", "shuffle") if cell[key] not in ("none", None))


def best(runs):
    """The number of workers with the best median, as the answer."""
    rates = collections.defaultdict(list)
    for run in runs:
        if run["cell"]["peer"] and not run["incomplete"]:
            rates[run["cell"]["peer-workers"]].append(run["samples_per_s"])
    medians = {workers: statistics.median(found) for workers, found in sorted(rates.items())}
    print("   DataLoader by workers:", ", ".join(f"{w}: {m:,.0f}/s" for w, m in medians.items()), file=sys.stderr)
    print(max(medians, key=medians.get))


def compare(runs):
    rates, ratios = collections.defaultdict(list), collections.defaultdict(list)
    for run in runs:
        name = name_of(run["cell"])
        if run["incomplete"]:
            print(f"   left out: {name}: {run['incomplete_reason']}")
            continue
        rates[name].append(run["samples_per_s"])
        for peer in run["peers"]:
            ratios[name, peer["name"]].append(peer["ratio"])
    for name, found in rates.items():
        print(f"   {name:28} {statistics.median(found):9,.0f} samples/s, median of {len(found)}")
        for (ours, peer), found_ratios in ratios.items():
            if ours == name:
                print(f"   {'':28} {statistics.median(found_ratios):9.1f} times {peer} "
                      f"({min(found_ratios):.1f} to {max(found_ratios):.1f})")
    checked = sum(run["checked_pieces"] or 0 for run in runs)
    wrong = sum((run["checked_wrong"] or 0) + (run["wrong_samples"] or 0) for run in runs)
    print(f"   {checked:,} checked by hash, {wrong} wrong")


if __name__ == "__main__":
    {"best": best, "compare": compare}[sys.argv[1]](json.load(sys.stdin)["runs"])
