#!/usr/bin/env python3
"""Queue depth over time, at the driver and in the I/O scheduler, one panel per cell."""
import sys

import numpy

import common
import load as data
import style

QUERY = data.SERIES_QUERY.replace("?", "'depth'")
BINS = 240


def envelope(seconds, values, epoch_s):
    """[(t_s, least, mean, greatest)] of equal bins of the epoch; empty bins left out."""
    bins = numpy.minimum(BINS - 1, seconds / epoch_s * BINS).astype(int)
    order = numpy.argsort(bins, kind="stable")
    found, first, counts = numpy.unique(bins[order], return_index=True, return_counts=True)
    least, total, greatest = (of.reduceat(values[order].astype(float), first)
                              for of in (numpy.minimum, numpy.add, numpy.maximum))
    return list(zip(((found + 0.5) / BINS * epoch_s).tolist(), least.tolist(), (total / counts).tolist(),
                    greatest.tolist()))


def load(db, cells):
    """{cell_id: (epoch_s, driver envelope, scheduler envelope)} of the first repeat with a probe."""
    return {cell: (epoch, *(envelope(seconds, records[name], epoch) for name in ("driver", "scheduler")))
            for cell, epoch, seconds, records in data.first_series(db, cells, "depth")}


def band(ax, rows, colour, label):
    times = [r[0] for r in rows]
    ax.fill_between(times, [r[1] for r in rows], [r[3] for r in rows], color=colour, alpha=0.22,
                    linewidth=0)
    return ax.plot(times, [r[2] for r in rows], color=colour, linewidth=0.9, label=label,
                   clip_on=False)[0]


def draw(panels, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in panels]
    fig, axes = style.grid(len(shown))
    for ax, cell in zip(axes, shown):
        _, driver, scheduler = panels[cell.cell_id]
        handles = [band(ax, driver, style.BLUE, "issued to the driver")]
        handles.append(band(ax, scheduler, style.ORANGE, "waiting in the scheduler"))
        style.title(ax, cell.label)
        ax.grid(axis="y")
    style.from_zero(axes)
    fig.supxlabel("time since the start of the epoch (s)", fontsize=7.5)
    fig.supylabel("requests", fontsize=7.5)
    style.legend_above(fig, handles)
    return fig


def describe(panels, cells):
    text = ("Queue depth over time, sampled at 1 kHz in the kernel; line: mean, band: least to greatest "
            f"of each 1/{BINS} of the epoch; at most {data.MOST_RECORDS:,} samples a panel, chosen evenly; "
            "first repeat of each cell (n=1).")
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
