#!/usr/bin/env python3
"""Transfers to the accelerator that no kernel hid, by cell: every repeat, on the accelerator's own clock."""
import sys

import common
import dots
import load as data
import style

QUERY = ("SELECT cell_id, o.exposed_ns * 1.0 / epoch_ns FROM good_run JOIN overlap o USING (run_id) "
         "WHERE o.exposed_ns IS NOT NULL ORDER BY cell_id, repeat")
PERCENT = 0.01


def load(db, cells):
    """{cell_id: [share of the epoch of each repeat]}."""
    found = data.points_by_cell(db, cells, QUERY)
    if not found:
        raise data.NotApplicable("no run has both a copy stage and a consumer")
    return found


def hidden(cell):
    """The share of transfers' time behind kernels, as a note; "" where it is not known."""
    share = cell.value("hidden_transfer")
    return "" if share is None else f"{100 * share:.1f} % hidden"


def draw(points, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in points]
    fig, ax = dots.figure(len(shown))
    dots.rows(ax, shown, "exposed_transfer", points, PERCENT)
    for row, cell in enumerate(shown):
        dots.note_row(ax, row, hidden(cell))
    ax.set_xlim(left=0)
    ax.set_xlabel("transfers without a kernel (% of the epoch)")
    style.legend_above(fig, dots.legend_handles(any(len(v) > 1 for v in points.values())))
    return fig


def describe(points, cells):
    left_out = sum(c.cell_id not in points for c in cells)
    text = ("Time in which bytes were on their way to the accelerator while no kernel ran, as a share of the epoch, on the "
            f"accelerator's own clock: every repeat, their median and range ({common.repeats_text(cells)} a row). Beside it: the "
            "share of the transfers' time in which one ran.")
    return text + (f" {common.plural(left_out, 'cell')} without a copy stage or consumer not shown." if left_out else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
