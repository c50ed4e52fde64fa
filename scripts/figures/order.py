#!/usr/bin/env python3
"""Where requests went against where the plan wanted them: intended and issued address by issue position."""
import sys

import numpy

import common
import load as data
import style

QUERY = data.SERIES_QUERY.replace("?", "'issue'")
REQUESTS_QUERY = ("SELECT r.cell_id, p.requests FROM good_run r JOIN probe p USING (run_id) JOIN series s USING (run_id) "
                  "WHERE s.kind = 'issue' AND s.records > 0 ORDER BY r.cell_id, r.repeat DESC")
MOST_POINTS = 4_000
LEAST_FULL = 1 << 16  # records of a log that was full: half of its room, 2^17 or more
UNKNOWN = numpy.iinfo(numpy.uint32).max  # no read of the plan
SECTORS_PER_GIB = (1 << 30) / 512


def first_seen(records):
    """The records of the plan's reads, the first of each in the order of issue."""
    ours = records[records["read"] != UNKNOWN]
    _, first = numpy.unique(ours["read"], return_index=True)
    return ours[numpy.sort(first)]


def places(records):
    """(intended, issued): addresses in GiB by position; equal where the order survived."""
    issued = first_seen(records)
    intended = issued[numpy.argsort(issued["read"], kind="stable")]
    return intended["sector"] / SECTORS_PER_GIB, issued["sector"] / SECTORS_PER_GIB


def stride(requests, records):
    """A log that was full keeps every stride-th request; others have all of the epoch."""
    return max(1, round(requests / records)) if records >= LEAST_FULL else 1


def load(db, cells):
    """{cell_id: (intended, issued, stride)} of the first repeat with a probe, where the plan's reads are known."""
    requests = dict(data.rows(db, REQUESTS_QUERY))  # the last of a cell is its first repeat
    found = {cell: (*places(records), stride(requests.get(cell, 0), len(records)))
             for cell, _, _, records in data.first_series(db, cells, "issue")}
    found = {cell: pair for cell, pair in found.items() if len(pair[0])}
    if not found:
        raise data.NothingToDraw("no request is known to be a read of a plan")
    return found


def draw(panels, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in panels]
    fig, axes = style.grid(len(shown))
    for ax, cell in zip(axes, shown):
        *both, step = panels[cell.cell_id]
        intended, issued = (p[:MOST_POINTS] for p in both)
        ax.scatter(range(0, step * len(issued), step), issued, s=1.6, color=style.BLUE, linewidths=0, rasterized=True)
        ax.scatter(range(0, step * len(intended), step), intended, s=0.5, color=style.ORANGE, linewidths=0, rasterized=True)
        style.title(ax, cell.label)
    # The data may lie far in: their addresses fill the panels, and are written out.
    axes[0].set_xlim(left=0)
    axes[0].ticklabel_format(axis="y", useOffset=False)
    fig.supxlabel("position in the order of issue", fontsize=7.5)
    fig.supylabel("address on the disk (LBA, GiB)", fontsize=7.5)
    return fig


def describe(panels, cells):
    text = ("Address of the n-th request as it was issued (blue) and as the plan wanted it (orange, on top): where the "
            f"order survived, orange covers blue; the first {MOST_POINTS:,} requests of the plan a panel; first repeat "
            "of each cell (n=1).")
    if (most := max(step for *_, step in panels.values())) > 1:
        text += f" A log that was full keeps every 2nd, 4th ... request (here one in {most} at most), which stands at its place."
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
