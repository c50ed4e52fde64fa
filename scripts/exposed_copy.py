#!/usr/bin/python3
"""Prints how much of each cell's copying was not hidden behind computing, from the stored accounts, beside the bars.

usage: scripts/exposed_copy.py RESULTS.db
One line per cell with a copy stage (its median run by epoch time): staging and slots, epoch time, time that the copy
lane was busy (registering, gathering and giving back included), exposed copying as a share of the epoch, utilisation,
CPU time per part copied. Pinned with two slots or more is held to 1 % exposed; pageable and one slot (a blocking copy)
have to be worse than it.
exit: 0 done, 1 the database cannot be read or has no such run.
"""

import dataclasses
import sqlite3
import sys

BAR = 0.01

QUERY = """
SELECT staging.value, CAST(slots.value AS INTEGER), epoch_ns, busy_ns, exposed_ns, utilisation,
       copy_cost.cpu_ns * 1.0 / nullif(copy_cost.parts, 0)
FROM account_lane JOIN run USING (run_id) LEFT JOIN copy_cost USING (run_id)
JOIN cell_setting staging ON staging.cell_id = run.cell_id AND staging.name = 'staging'
JOIN cell_setting slots ON slots.cell_id = run.cell_id AND slots.name = 'device-slots'
WHERE lane = 'copy' AND run.incomplete = 0 ORDER BY run_id
"""


@dataclasses.dataclass
class Run:
    staging: str
    slots: int
    epoch: int
    copying: int
    exposed: int
    utilisation: float | None
    cpu_per_part: float | None

    @property
    def held(self) -> bool:
        return self.staging == "pinned" and self.slots > 1


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


def line(run: Run, best: Run | None) -> str:
    used = "-" if run.utilisation is None else f"{run.utilisation:.3f}"
    cpu = "-" if run.cpu_per_part is None else f"{run.cpu_per_part / 1e3:.2f} us"
    return (f"epoch, {run.staging}, {run.slots} slot{'' if run.slots == 1 else 's'}: {run.epoch / 1e6:.1f} ms,"
            f" copying {run.copying / 1e6:.1f} ms, exposed {100 * run.exposed / run.epoch:.2f} %,"
            f" utilisation {used}, CPU per part {cpu}  {verdict(run, best)}").rstrip()


def main(argv: list[str]) -> int:
    try:
        with sqlite3.connect(f"file:{argv[0]}?mode=ro", uri=True) as db:
            cells = medians([Run(*row) for row in db.execute(QUERY)])
    except (IndexError, sqlite3.Error) as error:
        print(f"exposed_copy: {error}", file=sys.stderr)
        return 1
    if not cells:
        print(f"exposed_copy: {argv[0]} has no run with a copy stage", file=sys.stderr)
        return 1
    best = next((c for c in cells if c.held), None)
    for cell in cells:
        print(line(cell, best))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
