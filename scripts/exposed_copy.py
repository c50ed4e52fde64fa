#!/usr/bin/python3
"""Prints how much of each cell's copying was not hidden behind computing, beside the bars.

usage: scripts/exposed_copy.py RESULTS.db
One line per cell (median run by epoch time): staging and slots, epoch, copy time, exposed copy as a
share of the epoch, utilisation. Pinned with two slots or more is held to 1 % exposed; pageable and
one slot (a blocking copy) have to be worse than it.
exit: 0 done, 1 the database cannot be read or has no runs.
"""

import dataclasses
import sqlite3
import sys

BAR = 0.01

RUNS = """SELECT run_id, epoch_ns, staging.value, slots.value FROM run
JOIN cell_setting staging ON staging.cell_id = run.cell_id AND staging.name = 'staging'
JOIN cell_setting slots ON slots.cell_id = run.cell_id AND slots.name = 'device-slots'
ORDER BY run_id"""
BATCHES = """SELECT copy_begin_ns, copy_end_ns, compute_begin_ns, compute_end_ns FROM batch
WHERE run_id = ? AND compute_end_ns IS NOT NULL AND copy_end_ns IS NOT NULL"""


@dataclasses.dataclass
class Run:
    staging: str
    slots: int
    epoch: int
    copying: int
    computing: int
    exposed: int

    @property
    def held(self) -> bool:
        return self.staging == "pinned" and self.slots > 1


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


def load(path: str) -> list[Run]:
    runs = []
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        for run, epoch, staging, slots in db.execute(RUNS).fetchall():
            rows = db.execute(BATCHES, (run,)).fetchall()
            copies, computes = [r[:2] for r in rows], [r[2:] for r in rows]
            runs.append(Run(staging, int(slots), epoch, length(copies), length(computes),
                            exposed(copies, computes)))
    return runs


def medians(runs: list[Run]) -> list[Run]:
    cells: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.staging, run.slots), []).append(run)
    return [sorted(cell, key=lambda r: r.epoch)[len(cell) // 2] for cell in cells.values()]


def verdict(run: Run, best: Run | None) -> str:
    """The bar and whether it was met."""
    if run.held:
        return f"exposed <= {100 * BAR:g} %  {'pass' if run.exposed <= BAR * run.epoch else 'FAIL'}"
    if best is None or run.staging not in ("pageable", "pinned"):
        return ""
    worse = run.epoch > best.epoch and run.exposed * best.epoch > best.exposed * run.epoch
    return f"worse than pinned  {'pass' if worse else 'FAIL'}"


def main(argv: list[str]) -> int:
    try:
        cells = medians(load(argv[0]))
    except (IndexError, sqlite3.Error) as error:
        print(f"exposed_copy: {error}", file=sys.stderr)
        return 1
    if not cells:
        print(f"exposed_copy: {argv[0]} has no runs", file=sys.stderr)
        return 1
    best = next((c for c in cells if c.held), None)
    for c in cells:
        print(f"epoch, {c.staging}, {c.slots} slot{'' if c.slots == 1 else 's'}: {c.epoch / 1e6:.1f} ms,"
              f" copying {c.copying / 1e6:.1f} ms, exposed {100 * c.exposed / c.epoch:.2f} %,"
              f" utilisation {c.computing / c.epoch:.3f}  {verdict(c, best)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
