#!/usr/bin/env python3
"""Utilisation of the consumer over epoch progress, with its spread over repeats, one panel per cell."""
import statistics
import sys

import common
import epochs
import load as data
import style

QUERY = epochs.RUNS_QUERY
MOST_BINS, LEAST_BINS = 40, 4
BATCHES_A_BIN = 8  # fewer, and a bin would show single batches


def bins_for(batches):
    return max(LEAST_BINS, min(MOST_BINS, batches // BATCHES_A_BIN))


def curves(db, runs):
    """[shares per bin] of each repeat, in percent, with as many bins as the fewest batches bear."""
    spans = [(epochs.intervals(db, run, "compute"), run[3] / 1e9) for run in runs]
    spans = [(found, epoch) for found, epoch in spans if found]
    if not spans:
        return []
    bins = bins_for(min(len(found) for found, _ in spans))
    return [[100 * s for s in epochs.busy_shares(found, epoch, bins)] for found, epoch in spans]


def load(db, cells):
    """{cell_id: [curve of each repeat]}"""
    found = {cell: curves(db, runs) for cell, runs in epochs.runs_by_cell(db, cells).items()}
    found = {cell: of_cell for cell, of_cell in found.items() if of_cell}
    if not found:
        raise data.NotApplicable("no run has a consumer")
    return found


def draw_panel(ax, repeats):
    bins = len(repeats[0])
    edges = [100 * at / bins for at in range(bins + 1)]
    of_bin = list(zip(*repeats))
    middle = [statistics.median(values) for values in of_bin]
    band = ax.stairs([max(v) for v in of_bin], edges, baseline=[min(v) for v in of_bin], fill=True,
                     color=style.GREEN, alpha=0.25, linewidth=0, label="least to greatest of the repeats")
    line = ax.stairs(middle, edges, baseline=None, color=style.GREEN, linewidth=1.0, label="median")
    mean = statistics.median(sum(r) / bins for r in repeats)
    dashed = ax.axhline(mean, color=style.GREY, linewidth=0.7, linestyle=(0, (3, 2)),
                        label="of the whole epoch")
    return [line, *([band] if len(repeats) > 1 else []), dashed]


def draw(found, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in found]
    fig, axes = style.grid(len(shown))
    handles = []
    for ax, cell in zip(axes, shown):
        drawn = draw_panel(ax, found[cell.cell_id])
        handles = drawn if len(drawn) > len(handles) else handles
        style.title(ax, f"{cell.label} + (n={len(found[cell.cell_id])})".replace(" + (n", " (n"))
        ax.grid(axis="y")
        ax.set_axisbelow(True)
    axes[0].set(xlim=(0, 100), ylim=(0, 103), xticks=[0, 25, 50, 75, 100], yticks=[0, 25, 50, 75, 100])
    fig.supxlabel("progress of the epoch (% of its time)", fontsize=7.5)
    fig.supylabel("utilisation (%)", fontsize=7.5)
    style.legend_above(fig, handles)
    return fig


def describe(found, cells):
    bins = sorted({len(r[0]) for r in found.values()})
    parts = f"{bins[0]}" if len(bins) == 1 else f"{bins[0]} to {bins[-1]}"
    text = (f"Share of the time in which the consumer works on a batch, in {parts} equal parts of the epoch; line: "
            f"median over repeats ({common.span([len(r) for r in found.values()], 'repeat')} a panel), band: least to "
            "greatest, dashed: of the whole epoch.")
    missing = len(cells) - len(found)
    return text + (f" {common.plural(missing, 'cell')} without a consumer not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
