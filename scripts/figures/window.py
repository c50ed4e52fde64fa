#!/usr/bin/env python3
"""Throughput and shuffle quality over window size, and which windows are worth their memory."""
import re
import statistics
import sys

import common
import load as data
import style

QUERY = ("SELECT cell_id, bytes_per_s, window_peak_bytes, quality_label_mix, quality_displacement FROM good_run "
         "ORDER BY cell_id, repeat")
MEASURES = {"label mix": 3, "displacement": 4}  # with the column of QUERY; the first that all runs have
MARKERS = "osD^vP*X<>"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MOST_TICKS = 5


def window_bytes(word, peaks):
    """Of "64MiB"; of "10%" what it came to: a share of what an epoch takes in memory, where small samples take whole
    blocks. None: it is no window."""
    if re.fullmatch(r"[\d.e+-]+%", word):
        return statistics.median(peaks) if peaks else None
    size = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB)", word)
    return int(size[1]) * UNITS[size[2]] if size else None


def groups(cells):
    """[[cells that differ only in their window]], of two windows at least."""
    found = {}
    for c in cells:
        if c.settings.get("window", "-") not in ("-", ""):
            rest = tuple(sorted((k, v) for k, v in c.settings.items() if k != "window"))
            found.setdefault(rest, []).append(c)
    return [group for group in found.values() if len({c.settings["window"] for c in group}) > 1]


def name_of(group):
    """What the group's labels share: without the window."""
    parts = [[p for p in c.label.split(" + ") if not p.startswith("window ")] for c in group]
    return " + ".join(p for p in parts[0] if all(p in other for other in parts))


def load(db, cells):
    """(measure, [(name, [(window in bytes, cell, speeds, qualities)] by window)])."""
    found = groups([c for c in cells if c.runs > 0])
    if not found:
        raise data.NotApplicable("no two cells differ only in their window")
    runs = {}
    for row in data.rows(db, QUERY):
        runs.setdefault(row[0], []).append(row)
    ours = [row for group in found for c in group for row in runs.get(c.cell_id, [])]
    measure = next((m for m, at in MEASURES.items() if ours and all(row[at] is not None for row in ours)), None)
    if measure is None:
        raise data.NothingToDraw("no shuffle quality is known of all runs with these windows")
    lines = []
    for group in found:
        line = []
        for cell in group:
            of_cell = runs.get(cell.cell_id, [])
            size = window_bytes(cell.settings["window"], [row[2] for row in of_cell if row[2]])
            if size:
                line.append((size, cell, [row[1] for row in of_cell], [row[MEASURES[measure]] for row in of_cell]))
        lines.append((name_of(group), sorted(line, key=lambda point: point[0])))
    return measure, lines


def front(points):
    """Of [(quality, speed, ...)] those that no other is at least as good as in both and better in one, by quality."""
    kept = [p for p in points
            if not any(q[0] >= p[0] and q[1] >= p[1] and (q[0] > p[0] or q[1] > p[1]) for q in points)]
    return sorted(kept, key=lambda p: p[0])


def size_word(size):
    for name, scale in reversed(UNITS.items()):
        if size >= scale:
            return f"{size / scale:.3g} {name}"
    return "0 B"


def size_axis(ax, sizes):
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    ax.set_xscale("log")
    step = -(-len(sizes) // MOST_TICKS)
    ax.xaxis.set_major_locator(FixedLocator(sizes[::step]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_word(x)))
    ax.tick_params(axis="x", labelrotation=30)
    ax.set_xlabel("window")


def draw_line(ax, at, line, values):
    """Medians with the range of their repeats; `values` picks what is drawn. Lines stand a little beside each other."""
    beside = 1 + 0.05 * at
    for size, _, *lists in line:
        ax.plot([size * beside] * 2, [min(values(lists)), max(values(lists))], color=style.colour(at), linewidth=1.4, alpha=0.45)
    return ax.plot([p[0] * beside for p in line], [statistics.median(values(p[2:])) for p in line], color=style.colour(at),
                   marker=MARKERS[at % len(MARKERS)], markersize=3.5, linewidth=0.9)[0]


def apart(points, greatest):
    """Those whose names do not meet, from the best quality down."""
    kept = []
    for p in reversed(points):
        if all(abs(p[0] - k[0]) > 0.28 or abs(p[1] - k[1]) > 0.09 * greatest for k in kept):
            kept.append(p)
    return kept


def draw_front(ax, lines):
    points = [(statistics.median(quality), statistics.median(speeds) / style.MIB, size, at)
              for at, (_, line) in enumerate(lines) for size, _, speeds, quality in line]
    best = front(points)
    ax.plot([p[0] for p in best], [p[1] for p in best], color=style.GREY, linewidth=1.6, zorder=1)
    for p in points:
        kept = p in best
        ax.plot(p[0], p[1], linestyle="", marker=MARKERS[p[3] % len(MARKERS)], markersize=4.5 if kept else 3,
                markeredgecolor=style.colour(p[3]), markerfacecolor=style.colour(p[3]) if kept else "none", zorder=2)
    for p in apart(best, max(q[1] for q in points)):
        ax.annotate(size_word(p[2]), (p[0], p[1]), xytext=(-3, -3), textcoords="offset points", ha="right", va="top",
                    fontsize=6)


def draw(loaded, cells, facts):
    del cells, facts
    measure, lines = loaded
    rows, columns = (3, 1) if style.narrow() else (1, 3)
    fig, (speed, quality, both) = style.pyplot().subplots(
        rows, columns, figsize=(style.width(), 5.6 if style.narrow() else 2.4), layout="constrained")
    sizes = sorted({point[0] for _, line in lines for point in line})
    handles = []
    for at, (name, line) in enumerate(lines):
        handles.append(draw_line(speed, at, line, lambda lists: [s / style.MIB for s in lists[0]]))
        handles[-1].set_label(name)
        draw_line(quality, at, line, lambda lists: lists[1])
    draw_front(both, lines)
    speeds = [s / style.MIB for _, line in lines for point in line for s in point[2]]
    for ax in (speed, both):
        style.measured(ax.yaxis, min(speeds), max(speeds), room=1.08)
        ax.set_ylabel("throughput (MiB/s)")
    for ax in (speed, quality):
        size_axis(ax, sizes)
    quality.set(ylim=(-0.03, 1.05), ylabel=measure)
    both.set(xlim=(-0.03, 1.05), xlabel=measure)
    for ax in (speed, quality, both):
        ax.grid(axis="y")
        ax.set_axisbelow(True)
    style.legend_above(fig, handles)
    return fig


def describe(loaded, cells):
    del cells
    measure, lines = loaded
    counts = [len(point[2]) for _, line in lines for point in line]
    return (f"Throughput and {measure} (1: as a full permutation) over the size of the window, of cells that differ in "
            f"it alone (of a share of the data what was held at most): medians and ranges ({common.span(counts, 'repeat')} a cell). Last panel: one against the other; filled, "
            "on the line and with its window's size: no other window is better in both (Pareto front).")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
