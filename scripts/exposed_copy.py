#!/usr/bin/python3
"""Prints how much of each run's copying was not hidden behind computing.

usage: scripts/exposed_copy.py RESULTS.db
One line per run: staging, epoch time, copy time, exposed copy as a share of the epoch, utilisation.
exit: 0 done, 1 the database cannot be read.
"""

import sqlite3
import sys


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ascending spans that do not touch, covering the same points."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def length(spans: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in spans)


def exposed(copies: list[tuple[int, int]], computes: list[tuple[int, int]]) -> int:
    """Time in which a copy runs and no computing does: the union of both less the computing."""
    return length(union(copies + computes)) - length(union(computes))


def main(argv: list[str]) -> int:
    try:
        db = sqlite3.connect(f"file:{argv[0]}?mode=ro", uri=True)
        runs = db.execute(
            "SELECT run_id, epoch_ns, value FROM run JOIN cell_setting USING (cell_id)"
            " WHERE name = 'staging' ORDER BY run_id"
        ).fetchall()
    except (IndexError, sqlite3.Error) as error:
        print(f"exposed_copy: {error}", file=sys.stderr)
        return 1
    for run, epoch, staging in runs:
        rows = db.execute(
            "SELECT copy_begin_ns, copy_end_ns, compute_begin_ns, compute_end_ns FROM batch"
            " WHERE run_id = ? AND compute_end_ns IS NOT NULL", (run,)
        ).fetchall()
        copies, computes = [r[:2] for r in rows], [r[2:] for r in rows]
        bar = "exposed <= 1 %" if staging == "pinned" else ""
        print(f"epoch, {staging:<10} {epoch / 1e6:9.1f} ms, copying {length(copies) / 1e6:8.1f} ms,"
              f" exposed {100 * exposed(copies, computes) / epoch:6.2f} %,"
              f" utilisation {length(computes) / epoch:.3f}  {bar}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
