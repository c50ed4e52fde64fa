#!/usr/bin/python3
"""Prints how much of each cell's transfers no kernel hid, on the accelerator's own clock, beside the bars.

usage: scripts/exposed_copy.py RESULTS.db
One line per cell with a copy stage and a consumer: consumer and its time for a batch, staging and slots; epoch time, rate of the
transfers, transfers without a kernel as a share of the epoch, utilisation, CPU time per part copied: medians, and of what is
exposed the range of the repeats. Cells with the same consumer and time are compared with each other. Where computing takes
longer than copying, pinned memory with two slots or more is held to 1 % exposed; one slot (a blocking copy) has to be worse than
it, and where copying takes longer so has pageable memory: behind a long computation it hides.
exit: 0 done, 1 the database cannot be read or has no such run.
"""

import dataclasses
import sqlite3
import statistics
import sys

BAR = 0.01

QUERY = """
SELECT consumer.value, compute.value, staging.value, CAST(slots.value AS INTEGER), epoch_ns, transfer_ns, kernel_ns, exposed_ns,
       o.bytes, copy_cost.cpu_ns * 1.0 / nullif(copy_cost.parts, 0)
FROM overlap o JOIN run USING (run_id) LEFT JOIN copy_cost USING (run_id)
JOIN cell_setting consumer ON consumer.cell_id = run.cell_id AND consumer.name = 'consumer'
JOIN cell_setting compute ON compute.cell_id = run.cell_id AND compute.name = 'compute'
JOIN cell_setting staging ON staging.cell_id = run.cell_id AND staging.name = 'staging'
JOIN cell_setting slots ON slots.cell_id = run.cell_id AND slots.name = 'device-slots'
WHERE exposed_ns IS NOT NULL AND transfer_ns > 0 AND epoch_ns > 0 AND run.incomplete = 0 ORDER BY run_id
"""


@dataclasses.dataclass
class Run:
    consumer: str
    compute: str
    staging: str
    slots: int
    epoch: int
    transfer: int
    kernel: int
    exposed: int
    bytes: int
    cpu_per_part: float | None


@dataclasses.dataclass
class Cell:
    runs: list[Run]

    @property
    def settings(self) -> Run:
        return self.runs[0]

    @property
    def group(self) -> tuple[str, str]:
        return self.settings.consumer, self.settings.compute

    @property
    def pinned(self) -> bool:
        return self.settings.staging == "pinned" and self.settings.slots > 1

    @property
    def epoch(self) -> float:
        return statistics.median(r.epoch for r in self.runs)

    @property
    def exposed(self) -> list[float]:
        return [r.exposed / r.epoch for r in self.runs]

    @property
    def copy_bound(self) -> bool:
        return statistics.median(r.transfer / r.kernel if r.kernel else 2.0 for r in self.runs) > 1


def cells_of(runs: list[Run]) -> list[Cell]:
    found: dict[tuple, Cell] = {}
    for run in runs:
        found.setdefault((run.consumer, run.compute, run.staging, run.slots), Cell([])).runs.append(run)
    return list(found.values())


def verdict(cell: Cell, best: Cell | None) -> str:
    """The bar and whether it was met."""
    if best is None:
        return ""
    if cell is best:
        met = "pass" if statistics.median(cell.exposed) <= BAR else "FAIL"
        return "" if cell.copy_bound else f"exposed <= {100 * BAR:g} %  {met}"
    if cell.settings.slots > 1 and not (cell.settings.staging == "pageable" and best.copy_bound):
        return ""
    return f"slower than pinned  {'pass' if cell.epoch > best.epoch else 'FAIL'}"


def line(cell: Cell, best: Cell | None) -> str:
    s, exposed = cell.settings, cell.exposed
    cpu = [r.cpu_per_part for r in cell.runs if r.cpu_per_part is not None]
    cost = f"{statistics.median(cpu) / 1e3:.2f} us" if cpu else "-"
    used = statistics.median(r.kernel / r.epoch for r in cell.runs)
    rate = statistics.median(r.bytes / r.transfer for r in cell.runs)
    return (f"{s.consumer} {s.compute}, {s.staging}, {s.slots} slot{'' if s.slots == 1 else 's'}: epoch {cell.epoch / 1e6:.1f} ms,"
            f" transfers at {rate:.1f} GB/s, exposed {100 * statistics.median(exposed):.2f} %"
            f" ({100 * min(exposed):.2f}..{100 * max(exposed):.2f}), utilisation {used:.3f}, CPU per part {cost}"
            f"  {verdict(cell, best)}").rstrip()


def main(argv: list[str]) -> int:
    try:
        with sqlite3.connect(f"file:{argv[0]}?mode=ro", uri=True) as db:
            cells = cells_of([Run(*row) for row in db.execute(QUERY)])
    except (IndexError, sqlite3.Error) as error:
        print(f"exposed_copy: {error}", file=sys.stderr)
        return 1
    if not cells:
        print(f"exposed_copy: {argv[0]} has no run with a copy stage and a consumer", file=sys.stderr)
        return 1
    best = {c.group: c for c in reversed(cells) if c.pinned}
    for cell in cells:
        print(line(cell, best.get(cell.group)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
