#!/usr/bin/env python3
"""Where on the disk requests go over time (the sawtooth), one panel per cell."""
import sys

import common
import load as data
import style

QUERY = data.SERIES_QUERY.replace("?", "'issue'")
MOST_POINTS = 20_000
SECTORS_PER_GIB = (1 << 30) / 512


def thin(points, most=MOST_POINTS):
    """Evenly chosen points, at most `most`."""
    if len(points) <= most:
        return points
    return [points[i * len(points) // most] for i in range(most)]


def load(db, cells):
    """{cell_id: ([t_s], [GiB on the disk])} of the first repeat with a probe."""
    return {cell: (list(thin(seconds)), [sector / SECTORS_PER_GIB for sector in thin(records["sector"])])
            for cell, _, seconds, records in data.first_series(db, cells, "issue")}


def draw(panels, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in panels]
    fig, axes = style.grid(len(shown))
    for ax, cell in zip(axes, shown):
        times, places = panels[cell.cell_id]
        # Tens of thousands of vector dots would make the page heavy; axes and text stay vectors.
        ax.scatter(times, places, s=0.7, color=style.BLUE, linewidths=0, rasterized=True)
        style.title(ax, cell.label)
    style.from_zero(axes)
    fig.supxlabel("time since the start of the epoch (s)", fontsize=7.5)
    fig.supylabel("address on the disk (LBA, GiB)", fontsize=7.5)
    return fig


def describe(panels, cells):
    text = ("Address of each request as the driver saw it, over time; at most "
            f"{MOST_POINTS:,} requests a panel, chosen evenly; first repeat of each cell (n=1).")
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
