#!/usr/bin/env python3
"""Throughput against shuffle quality: what mixing costs, by policy and window."""
import sys
import textwrap

import common
import load as data
import style

# The measures of docs/measurement.md that say how well the emitted order is shuffled, with their words.
MEASURES = {"quality_displacement": "displacement", "quality_rank_decorrelation": "rank correlation",
            "quality_neighbours_broken": "neighbours", "quality_label_mix": "label mix"}
# One sentence: a caption stands alone, in a report and in LaTeX.
DEFINITIONS = {
    "quality_displacement": "displacement is the mean distance between a sample's places in the emission and in the cell's order "
                            "without chance, over that of a random permutation",
    "quality_rank_decorrelation": "rank correlation is 1 less the absolute value of Spearman's, of the emission with the cell's "
                                  "order without chance",
    "quality_neighbours_broken": "neighbours is the share of samples that follow each other in the emission and are not neighbours "
                                 "in the cell's order without chance, over that of a random permutation",
    "quality_label_mix": "label mix is how far the pairs of equal label within batches have fallen, from the purest batches "
                         "possible (0) to the mean of a random permutation (1)"}
QUERY = (f"SELECT cell_id, bytes_per_s, {', '.join(MEASURES)} FROM good_run ORDER BY cell_id, repeat")
MARKERS = "osD^vP*X<>"


def least(measures):
    """(value, name of the measure) of the known ones; None: none is known.

    An order is as well shuffled as the measure that finds most left of the old one: each of them
    alone saturates (large pieces in random order have displacement 0.95 and neighbours 0.02).
    """
    known = [(value, name) for name, value in measures.items() if value is not None]
    return min(known) if known else None


def load(db, cells):
    """{cell_id: [(least measure, its name, bytes per second)]} of each run."""
    wanted = {c.cell_id for c in cells}
    points = {}
    for cell, speed, *values in data.rows(db, QUERY):
        worst = least(dict(zip(MEASURES, values)))
        if cell in wanted and worst:
            points.setdefault(cell, []).append((*worst, speed))
    if not points:
        raise data.NothingToDraw("no run has a shuffle quality")
    return points


def of_cell(cell):
    """(value, name) of the cell, over its medians in cells.csv."""
    return least({name: cell.value(name) for name in MEASURES})


def look(at, cell, worst):
    """Colour and shape of a cell: both differ, for readers and printers without colours."""
    label = textwrap.fill(f"{cell.label} (n={cell.runs}): {MEASURES[worst]}", 52, subsequent_indent="   ")
    return {"color": style.colour(at), "marker": MARKERS[at % len(MARKERS)], "linestyle": "",
            "markersize": 4.5, "label": label}


def draw_cell(ax, at, cell, points):
    speeds = [speed / style.MIB for *_, speed in points]
    ax.plot([value for value, *_ in points], speeds, linestyle="", marker=MARKERS[at % len(MARKERS)],
            markersize=2.6, markerfacecolor="none", markeredgecolor=style.GREY, markeredgewidth=0.5)
    x, worst = of_cell(cell)
    ax.plot([x, x], [min(speeds), max(speeds)], color=style.colour(at), linewidth=1.4, alpha=0.45)
    return ax.plot(x, cell.value("bytes_per_s") / style.MIB, **look(at, cell, worst))[0], max(speeds)


def draw_ceiling(ax, ceiling):
    ax.axhline(ceiling, color=style.RED, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.annotate("sequential ceiling", (0.5, ceiling), xytext=(0, 2), ha="center",
                textcoords="offset points", color=style.RED, fontsize=6.5)


def draw(points, cells, facts):
    shown = [c for c in cells if c.cell_id in points and of_cell(c)]
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 2.3 if style.narrow() else 2.7), layout="constrained")
    drawn = [draw_cell(ax, at, cell, points[cell.cell_id]) for at, cell in enumerate(shown)]
    top = max(greatest for _, greatest in drawn)
    ceiling = data.sequential_ceiling(facts)
    if ceiling:
        draw_ceiling(ax, ceiling.median / style.MIB)
        top = max(top, ceiling.median / style.MIB)
    ax.set(xlim=(-0.03, max(1.03, *(p[0] * 1.03 for v in points.values() for p in v))),
           ylabel="throughput (MiB/s)",
           xlabel="shuffle quality (1: full permutation)" if style.narrow() else
           "shuffle quality: least measure (0 none, 1 full permutation)")
    style.measured(ax.yaxis, min(speed for v in points.values() for *_, speed in v) / style.MIB, top, room=1.08)
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    style.legend_beside(fig, ax, [handle for handle, _ in drawn], "cell: its least measure")
    return fig


def sentence(*names):
    """What these measures are, without a full stop."""
    said = "; ".join(text for name, text in DEFINITIONS.items() if name in names)
    return said[:1].upper() + said[1:]


def describe(points, cells):
    runs = sum(len(v) for v in points.values())
    text = (f"Throughput against shuffle quality (n={runs} runs), which is the least of {', '.join(MEASURES.values())}, "
            "as far as known; the legend names it. Filled: medians of cells, line: range of the repeats; hollow: "
            f"repeats ({common.span([len(v) for v in points.values()], 'repeat')} a cell).")
    said = sentence(*(of_cell(c)[1] for c in cells if c.cell_id in points and of_cell(c)))
    text += f" {said}." if said else ""
    missing = len(cells) - len(points)
    return text + (f" {common.plural(missing, 'cell')} of unknown quality not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
