#!/usr/bin/env python3
"""Where requests went against where the plan wanted them: intended and issued address by issue position."""
import sys

import numpy

import common
import load as data
import style

QUERY = data.SERIES_QUERY.replace("?", "'issue'")
MOST_POINTS = 4_000
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


def load(db, cells):
    """{cell_id: (intended, issued)} of the first repeat with a probe, where the plan's reads are known."""
    found = {cell: places(records) for cell, _, _, records in data.first_series(db, cells, "issue")}
    found = {cell: pair for cell, pair in found.items() if len(pair[0])}
    if not found:
        raise data.NothingToDraw("no request is known to be a read of a plan")
    return found


def draw(panels, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in panels]
    fig, axes = style.grid(len(shown))
    for ax, cell in zip(axes, shown):
        intended, issued = (p[:MOST_POINTS] for p in panels[cell.cell_id])
        ax.scatter(range(len(issued)), issued, s=1.6, color=style.BLUE, linewidths=0, rasterized=True)
        ax.scatter(range(len(intended)), intended, s=0.5, color=style.ORANGE, linewidths=0, rasterized=True)
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
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
