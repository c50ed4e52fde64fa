"""What the progress line costs, in pairs of runs with and without it."""
import statistics

import common
import curves
import style

TITLE = "The cost of the progress line"
REPORTED = "tqdm states 60 ns an iteration for its bar. Ours is to cost at most 0.5 % of an epoch."
BOUND = 0.5  # percent
QUICK = {}
FULL = {"PAIRS": "30", "COUNT": "20000", "EPOCHS": "200"}
PARTS = {"epoch_ns": "epoch", "cpu_ns": "CPU time"}


def load(db, cells):
    """{column: [percent that it is longer with the line, of each pair]}."""
    found = {}
    for column in PARTS:
        values = curves.by_round(db, cells, column)
        arms = {c.disk: {repeat: v for (_, repeat), v in values.get(c.cell_id, {}).items()} for c in cells}
        on, off = (next(of for disk, of in arms.items() if disk.split(",")[0] == name) for name in ("on", "off"))
        found[column] = [100 * (on[r] / off[r] - 1) for r in sorted(on) if off.get(r)]
    return found


def draw(loaded, cells, facts):
    del cells, facts
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 1.5), layout="constrained")
    for row, values in enumerate(loaded.values()):
        ax.plot(values, [row] * len(values), "o", color=style.GREY, markersize=3.5, markerfacecolor="none", label="a pair")
        ends = curves.median_interval(values)
        if ends:
            ax.plot(ends, [row, row], color=style.BLUE, linewidth=2.2, alpha=0.45, solid_capstyle="butt")
        middle = ax.plot(statistics.median(values), row, "|", color=style.BLUE, markersize=14, markeredgewidth=1.8, label="median")
    bound = ax.axvline(BOUND, color=style.RED, linestyle="--", linewidth=1, label=f"{BOUND} %")
    ax.axvline(0, color=style.GREY, linewidth=0.6, zorder=0)
    ax.set_yticks(range(len(loaded)), [PARTS[c] for c in loaded])
    ax.set(ylim=(len(loaded) - 0.5, -0.5), xlabel="longer with the progress line (%)")
    style.legend_above(fig, [ax.lines[0], middle[0], bound])
    return fig


def describe(loaded, cells):
    del cells
    pairs = common.span([len(v) for v in loaded.values()], "pair")
    return (f"Epochs from memory with the progress line on a terminal and without it, in turns: by how much the epoch and the CPU time "
            f"of the process are longer with it, of each pair ({pairs}), and their median with its 95 % interval (order statistics).")


def said(values):
    ends = curves.median_interval(values)
    text = f"{statistics.median(values):+.2f} %"
    if ends is None:
        return text + " (too few pairs for an interval)"
    told = "at most" if ends[1] <= BOUND else "more than" if ends[0] > BOUND else "not told apart from"
    return f"{text} [{ends[0]:+.2f}, {ends[1]:+.2f}], {told} {BOUND} %"


def found(loaded, cells):
    del cells
    return "longer with the line by " + "; ".join(f"{PARTS[column]} {said(v)}" for column, v in loaded.items()) + "."
