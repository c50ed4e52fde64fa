#!/usr/bin/env python3
"""Time to the first batch by policy: what a shuffle window costs before training can begin."""
import sys

import common
import dots
import load as data
import style

QUERY = "SELECT cell_id, first_batch_ns FROM good_run ORDER BY cell_id, repeat"


def load(db, cells):
    """{cell_id: [ns of each repeat]}."""
    found = data.points_by_cell(db, cells, QUERY)
    if not found:
        raise data.NothingToDraw("no run delivered a batch")
    return found


def draw(points, cells, facts):
    del facts
    fig, ax = dots.figure(len(cells))
    greatest = dots.rows(ax, cells, "first_batch_ns", points, 1e6)
    least = min(min(v) for v in points.values()) / 1e6
    # Dots, not bars: no length is read from zero.
    style.measured(ax.xaxis, least, greatest, "log" if least > 0 and greatest / least > 10 else "linear")
    ax.set_xlabel("time from the start of the epoch to the first batch (ms)")
    style.rate_ticks(ax)
    style.legend_above(fig, dots.legend_handles(any(len(v) > 1 for v in points.values())))
    return fig


def describe(points, cells):
    del points
    return f"Time to the first batch: every repeat, their median and range ({common.repeats_text(cells)} a row)."


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
