#!/usr/bin/env python3
"""Throughput against shuffle quality: what mixing costs, by policy and window."""
import sys

import common
import load as data
import style

QUERY = ("SELECT cell_id, quality_label_mix, quality_displacement, bytes_per_s FROM good_run "
         "ORDER BY cell_id, repeat")
# In order of preference: the mix of labels is the same measure whatever the read order was.
METRICS = [("quality_label_mix", 1, "label mix per batch"),
           ("quality_displacement", 2, "mean displacement")]
MARKERS = "osD^vP*X<>"


def load(db, cells):
    """(column of cells.csv, axis label, {cell_id: [(quality, bytes per second)]}).

    The first metric that is known of every cell, else the first that is known of any.
    """
    wanted = {c.cell_id for c in cells}
    found = [row for row in data.rows(db, QUERY) if row[0] in wanted]
    candidates = []
    for name, column, label in METRICS:
        points = {}
        for row in found:
            if row[column] is not None:
                points.setdefault(row[0], []).append((row[column], row[3]))
        if points:
            candidates.append((name, label, points))
    if not candidates:
        raise data.NothingToDraw("no run has a shuffle quality")
    return next((c for c in candidates if len(c[2]) == len(cells)), candidates[0])


def look(at, cell):
    """Colour and shape of a cell: both differ, for readers and printers without colours."""
    return {"color": style.colour(at), "marker": MARKERS[at % len(MARKERS)], "linestyle": "",
            "markersize": 4.5, "label": f"{cell.label} (n={cell.runs})"}


def draw_cell(ax, at, cell, name, points):
    speeds = [speed / style.MIB for _, speed in points]
    ax.plot([quality for quality, _ in points], speeds, linestyle="", marker=MARKERS[at % len(MARKERS)],
            markersize=2.6, markerfacecolor="none", markeredgecolor=style.GREY, markeredgewidth=0.5)
    x, interval = cell.value(name), cell.interval("bytes_per_s")
    if interval:
        ax.plot([x, x], [v / style.MIB for v in interval], color=style.colour(at), linewidth=1.4)
    return ax.plot(x, cell.value("bytes_per_s") / style.MIB, **look(at, cell))[0], max(speeds)


def draw_ceiling(ax, ceiling):
    ax.axhline(ceiling, color=style.RED, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.annotate("sequential ceiling", (0.5, ceiling), xytext=(0, 2), ha="center",
                textcoords="offset points", color=style.RED, fontsize=6.5)


def draw(found, cells, facts):
    name, label, points = found
    shown = [c for c in cells if c.cell_id in points and c.value(name) is not None]
    fig, ax = style.pyplot().subplots(figsize=(style.DOUBLE, 2.7), layout="constrained")
    drawn = [draw_cell(ax, at, cell, name, points[cell.cell_id]) for at, cell in enumerate(shown)]
    top = max(greatest for _, greatest in drawn)
    ceiling = data.sequential_ceiling(facts)
    if ceiling:
        draw_ceiling(ax, ceiling.median / style.MIB)
        top = max(top, ceiling.median / style.MIB)
    ax.set(xlim=(-0.03, max(1.03, *(p[0] * 1.03 for v in points.values() for p in v))),
           ylim=(0, top * 1.08), ylabel="throughput (MiB/s)",
           xlabel=f"shuffle quality: {label} (0 none, 1 full permutation)")
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    ax.legend(handles=[handle for handle, _ in drawn], loc="center left", bbox_to_anchor=(1.01, 0.5),
              borderaxespad=0, labelspacing=0.7, handletextpad=0.3)
    return fig


def describe(found, cells):
    points = found[2]
    runs = sum(len(v) for v in points.values())
    text = (f"Throughput against shuffle quality (n={runs} runs): filled, medians of cells with 95 % "
            "bootstrap intervals; hollow, repeats.")
    missing = len(cells) - len(points)
    return text + (f" {common.plural(missing, 'cell')} of unknown quality not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
