#!/usr/bin/env python3
"""Whether the waiting time per batch has a peak every n-th batch, as n workers that end together leave it.

  batch_period.py RESULTS.db [--lag N] [--json]

One line for each complete run: the autocorrelation of the time that the consumer waited for a batch, at lag
N (default: as many as the cell's reader has workers), and the lag up to 2 N at which it is strongest.
Ranks of the times are correlated, so that one long wait does not decide. A period is one that stands out:
above three standard errors of noise (3 / sqrt(batches)), and above every shorter lag.
"""
import argparse
import json
import math
import re
import sys

import load as data

STANDARD_ERRORS = 3
LEAST_CYCLES = 5  # of n batches; fewer show no period

RUNS_QUERY = "SELECT run_id, cell_id, repeat, begin_ns FROM good_run ORDER BY run_id"
SETTINGS_QUERY = "SELECT cell_id, name, value FROM cell_setting ORDER BY cell_id, position"
# A batch can be used when it has passed all stages before the consumer.
BATCHES_QUERY = ("SELECT max(s.end_ns), b.consumed_ns FROM batch b JOIN batch_stage s USING (run_id, position) "
                 "WHERE b.run_id = ? AND s.stage IN ('read', 'decode', 'copy') "
                 "GROUP BY b.position ORDER BY b.position")


def waits(batches, begin):
    """ns that the consumer waited for each batch, of [(arrived, consumed)] in order of delivery."""
    out, available, free = [], begin, begin
    for arrived, consumed in batches:
        available = max(available, arrived)  # those before it come first
        out.append(max(0, available - free))
        free = max(consumed, available)
    return out


def ranks(values):
    """Of each value among all, from 0; equal ones share the middle of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out, first = [0.0] * len(values), 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for at in order[first:last + 1]:
            out[at] = (first + last) / 2
        first = last + 1
    return out


def autocorrelation(values, lag):
    """-1 to 1; 0 where all values are equal."""
    mean = sum(values) / len(values)
    apart = [v - mean for v in values]
    whole = sum(a * a for a in apart)
    return sum(a * b for a, b in zip(apart, apart[lag:])) / whole if whole > 0 else 0.0


def period(times, lag):
    """What is said of one run: {"lag", "autocorrelation", "bound", "strongest_lag", "periodic"}; None: too short."""
    times = times[lag:]  # the first of each worker: nothing was ahead of them
    if lag < 2 or len(times) < LEAST_CYCLES * lag:
        return None
    ranked = ranks(times)
    at = {n: autocorrelation(ranked, n) for n in range(1, 2 * lag + 1)}
    bound = STANDARD_ERRORS / math.sqrt(len(ranked))
    return {"lag": lag, "autocorrelation": at[lag], "bound": bound, "batches": len(ranked),
            "strongest_lag": max(at, key=at.get),
            "periodic": at[lag] > bound and all(at[lag] > at[n] for n in range(1, lag))}


def workers_of(settings):
    """Of a cell, in any of its settings' values: "workers:4" or "workers=4"; 0: none."""
    for value in settings.values():
        if found := re.search(r"workers[:=](\d+)", value):
            return int(found[1])
    return 0


def of_database(path, lag):
    """One entry a run that is complete: its cell, its repeat and what period() says."""
    settings = {}
    for cell, name, value in data.rows(path, SETTINGS_QUERY):
        settings.setdefault(cell, {})[name] = value
    out = []
    for run, cell, repeat, begin in data.rows(path, RUNS_QUERY):
        times = waits(data.rows(path, BATCHES_QUERY, [run]), begin)
        out.append({"run": run, "cell": cell, "repeat": repeat, "reader": settings[cell].get("reader", ""),
                    "period": period(times, lag or workers_of(settings[cell]))})
    return out


def line(entry):
    found = entry["period"]
    head = f"run {entry['run']} ({entry['reader']}, repeat {entry['repeat']}): "
    if found is None:
        return head + "no lag of 2 or more, or too few batches"
    said = f"peaks every {found['lag']} batches" if found["periodic"] else f"no peaks every {found['lag']} batches"
    return (f"{head}{said}: autocorrelation {found['autocorrelation']:.2f} at lag {found['lag']} (noise below "
            f"{found['bound']:.2f}), strongest at lag {found['strongest_lag']}, {found['batches']} batches")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--lag", type=int, default=0, help="batches; default: the cell's workers")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args(argv)
    found = of_database(options.database, options.lag)
    print(json.dumps({"runs": found}) if options.json else "\n".join(map(line, found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
