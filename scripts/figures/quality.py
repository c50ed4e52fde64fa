#!/usr/bin/env python3
"""Throughput against shuffle quality: what mixing costs, by policy and window."""
import sys

import common
import load as data
import style

QUERY = ("SELECT cell_id, quality_displacement, bytes_per_s FROM good_run "
         "WHERE quality_displacement IS NOT NULL ORDER BY cell_id, repeat")
LABEL_GAP = 0.052  # of the axis: least vertical distance of two labels


def load(db, cells):
    """{cell_id: [(quality, bytes per second)]}."""
    wanted = {c.cell_id for c in cells}
    found = {}
    for cell, quality, speed in data.rows(db, QUERY):
        if cell in wanted:
            found.setdefault(cell, []).append((quality, speed))
    if not found:
        raise data.NothingToDraw("no run has a shuffle quality")
    return found


def spread(heights, gap):
    """Heights moved apart to at least `gap`, in the same order, each as little as a sweep allows."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    for before, at in zip(order, order[1:]):
        placed[at] = max(placed[at], placed[before] + gap)
    # Push back down what has left the axis.
    limit = 1.0
    for at in reversed(order):
        placed[at] = min(placed[at], limit)
        limit = placed[at] - gap
    return placed


def annotate(ax, shown, top):
    """Labels beside their points, on the side where there is room, moved apart."""
    for left in (False, True):
        side = [c for c in shown if (c.value("quality_displacement") > 0.5) == left]
        heights = spread([c.value("bytes_per_s") / style.MIB / top for c in side], LABEL_GAP)
        for cell, height in zip(side, heights):
            x, y = cell.value("quality_displacement"), cell.value("bytes_per_s") / style.MIB
            ax.annotate(cell.label, (x, y), xytext=(x + (-0.035 if left else 0.035), height * top),
                        ha="right" if left else "left", va="center", fontsize=6.5,
                        arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.4,
                                    "shrinkA": 0, "shrinkB": 2})


def draw(points, cells, facts):
    shown = [c for c in cells if c.cell_id in points and c.value("quality_displacement") is not None]
    fig, ax = style.pyplot().subplots(figsize=(style.DOUBLE * 0.72, 3.1), layout="constrained")
    for cell in shown:
        ax.plot([p[0] for p in points[cell.cell_id]], [p[1] / style.MIB for p in points[cell.cell_id]],
                linestyle="", marker="o", markersize=2.6, markerfacecolor="none",
                markeredgecolor=style.GREY, markeredgewidth=0.5)
        x, interval = cell.value("quality_displacement"), cell.interval("bytes_per_s")
        if interval:
            ax.plot([x, x], [v / style.MIB for v in interval], color=style.BLUE, linewidth=1.6)
        ax.plot(x, cell.value("bytes_per_s") / style.MIB, marker="s" if cell.baseline else "o",
                markersize=4, color=style.INK if cell.baseline else style.BLUE, linestyle="")
    speeds = [p[1] / style.MIB for c in shown for p in points[c.cell_id]]
    ceiling = data.best_ceiling(facts)
    top = max(speeds + ([ceiling / style.MIB] if ceiling else [])) * 1.08
    if ceiling:
        ax.axhline(ceiling / style.MIB, color=style.RED, linewidth=1.0, linestyle=(0, (4, 2)))
        ax.annotate("sequential ceiling", (0.5, ceiling / style.MIB), xytext=(0, 2), ha="center",
                    textcoords="offset points", color=style.RED, fontsize=6.5)
    ax.set(xlim=(-0.03, max(1.03, *(p[0] * 1.03 for v in points.values() for p in v))), ylim=(0, top),
           xlabel="shuffle quality: mean displacement (0 none, 1 full permutation)",
           ylabel="throughput (MiB/s)")
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    annotate(ax, shown, top)
    return fig


def describe(points, cells):
    runs = sum(len(v) for v in points.values())
    text = (f"Throughput against shuffle quality (n={runs} runs): filled, medians of cells with 95 % "
            "bootstrap intervals; hollow, repeats; square, the baseline.")
    missing = len(cells) - len(points)
    return text + (f" {common.plural(missing, 'cell')} of unknown quality not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
