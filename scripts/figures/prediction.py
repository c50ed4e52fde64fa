#!/usr/bin/env python3
"""Predicted against measured epochs: every run, with the line of equality and a band of 15 %."""
import sys
import textwrap

import common
import load as data
import style

BAND = 0.15
QUERY = ("SELECT r.cell_id, r.epoch_ns, p.epoch_ns, p.model FROM good_run r "
         "JOIN prediction p USING (run_id) WHERE p.prediction_id = "
         "(SELECT max(prediction_id) FROM prediction n WHERE n.run_id = r.run_id) "
         "ORDER BY r.cell_id, r.repeat")
MARKERS = "osD^vP*X<>"


def load(db, cells):
    """{"points": {cell_id: [(measured s, predicted s)]}, "models": names}."""
    wanted = {c.cell_id for c in cells}
    points, models = {}, []
    for cell, measured, predicted, model in data.rows(db, QUERY):
        if cell in wanted and predicted > 0:
            points.setdefault(cell, []).append((measured / 1e9, predicted / 1e9))
            models += [] if model in models else [model]
    if not points:
        raise data.NotApplicable("no run has a prediction")
    return {"points": points, "models": models}


def within(points):
    """(runs inside the band, runs)."""
    errors = [abs(predicted / measured - 1) for of_cell in points.values()
              for measured, predicted in of_cell]
    return sum(e <= BAND for e in errors), len(errors)


def limits(points):
    values = [v for of_cell in points.values() for pair in of_cell for v in pair]
    return min(values) / 1.4, max(values) * 1.4


def look(at, name, runs):
    return {"color": style.colour(at), "marker": MARKERS[at % len(MARKERS)], "linestyle": "",
            "markersize": 4, "markerfacecolor": "none", "markeredgewidth": 0.9,
            "label": textwrap.fill(f"{name} (n={runs})", 48, subsequent_indent="   ")}


def names(cells):
    """The disk is part of a name only where there are several."""
    several = len(data.by_disk(cells)) > 1
    return {c.cell_id: c.label if several else c.label_on_disk or c.label for c in cells}


def draw(found, cells, facts):
    del facts
    points = found["points"]
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 3.0 if style.narrow() else 3.4), layout="constrained")
    ends = limits(points)
    band = ax.fill_between(ends, [v * (1 - BAND) for v in ends], [v * (1 + BAND) for v in ends],
                           color=style.GREY, alpha=0.18, linewidth=0, label=f"within {BAND:.0%}")
    line = ax.plot(ends, ends, color=style.GREY, linewidth=0.8, label="predicted = measured")[0]
    shown = [c for c in cells if c.cell_id in points]
    name_of = names(shown)
    handles = [ax.plot(*zip(*points[cell.cell_id]), **look(at, name_of[cell.cell_id], len(points[cell.cell_id])))[0]
               for at, cell in enumerate(shown)]
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal",
           xlabel="measured epoch (s)", ylabel="predicted epoch (s)")
    style.log_ticks(ax.xaxis)
    style.log_ticks(ax.yaxis)
    style.legend_beside(fig, ax, [line, band, *handles])
    return fig


def describe(found, cells):
    inside, runs = within(found["points"])
    text = (f"Predicted against measured epochs, one mark per run; model "
            f"{', '.join(found['models'])}; {inside} of {runs} runs within {BAND:.0%}.")
    missing = len(cells) - len(found["points"])
    return text + (f" {common.plural(missing, 'cell')} without a prediction not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
