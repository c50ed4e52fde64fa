#!/usr/bin/env python3
"""Loading strategies: epoch time of each step with its spread, and utilisation over the epoch.

Steps are disks whose label begins with a number (scripts/experiments/loading-strategies.sh).
"""
import re
import statistics
import sys

import common
import load as data
import style

BINS = 20
QUERY = "SELECT cell_id, epoch_ns / 1e9 FROM good_run ORDER BY cell_id, repeat"
BATCHES = ("SELECT r.cell_id, r.run_id, r.begin_ns, r.epoch_ns, b.compute_begin_ns, b.compute_end_ns "
           "FROM good_run r JOIN batch b USING (run_id) WHERE b.compute_end_ns IS NOT NULL "
           "ORDER BY r.cell_id, r.run_id, b.position")
STEP = re.compile(r"^(\d+) (.+)$")


def step_of(cell):
    """(number, name) of the cell's step, or None."""
    match = STEP.match(cell.disk)
    return (int(match[1]), match[2]) if match else None


def limit_of(cell):
    limit = cell.settings.get("bandwidth-limit", "none")
    if limit == "none":
        return "no limit"
    match = re.match(r"^(\d+)B/s$", limit)
    return f"{int(match[1]) / 1e6:,.0f} MB/s" if match else limit


def busy_by_bin(begin, length, spans):
    """Share of each of BINS equal parts of [begin, begin + length) that the spans cover."""
    width = length / BINS
    shares = [0.0] * BINS
    for low, high in spans:
        first = max(0, int((low - begin) / width))
        last = min(BINS - 1, int((high - begin) / width))
        for at in range(first, last + 1):
            start = begin + at * width
            shares[at] += max(0.0, min(high, start + width) - max(low, start)) / width
    return shares


def utilisation(db, wanted):
    """{cell_id: [shares by bin, of each run]}."""
    runs = {}
    for cell, run, begin, length, low, high in data.rows(db, BATCHES):
        if cell in wanted and length > 0:
            runs.setdefault((cell, run, begin, length), []).append((low, high))
    found = {}
    for (cell, _, begin, length), spans in runs.items():
        found.setdefault(cell, []).append(busy_by_bin(begin, length, spans))
    return found


def load(db, cells):
    if len({c.disk for c in cells if step_of(c)}) < 2:
        raise data.NotApplicable("no steps of loading strategies")
    epochs = data.points_by_cell(db, cells, QUERY)
    if not epochs:
        raise data.NothingToDraw("no step has a complete run")
    return {"epochs": epochs, "utilisation": utilisation(db, {c.cell_id for c in cells})}


def draw_epochs(ax, epochs, cells, limits):
    steps = sorted({step_of(c) for c in cells})
    height = 0.8 / len(limits)
    handles = {}
    for cell in cells:
        values = epochs.get(cell.cell_id)
        if not values:
            continue
        at = limits.index(limit_of(cell))
        row = steps.index(step_of(cell)) + height * (at - (len(limits) - 1) / 2)
        middle = statistics.median(values)
        handles[at] = ax.barh(row, middle, height * 0.92, color=style.colour(at + 1), alpha=0.55,
                              label=limits[at], linewidth=0)
        ax.errorbar(middle, row, xerr=[[middle - min(values)], [max(values) - middle]],
                    color=style.INK, linewidth=0.8, capsize=2)
        ax.plot(values, [row] * len(values), "o", markersize=2.2, color=style.INK,
                markerfacecolor="none", markeredgewidth=0.5)
        ax.annotate(f"{middle:.3g}", (max(values), row), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=6.5)
    ax.set_yticks(range(len(steps)), [f"{number}  {name}" for number, name in steps])
    ax.set_ylim(len(steps) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, max(max(v) for v in epochs.values()) * 1.16)
    ax.set_xlabel("epoch (s)")
    above(ax, [handles[at] for at in sorted(handles)])


def above(ax, handles):
    ax.legend(handles=handles, ncols=len(handles), loc="lower left", bbox_to_anchor=(0, 1),
              borderaxespad=0.2, handlelength=1.6, handletextpad=0.4, columnspacing=0.9)


def draw_utilisation(ax, found, cells, limit):
    """One line a step: mean over repeats, and between the least and greatest of them a band."""
    middles = [(at + 0.5) / BINS * 100 for at in range(BINS)]
    numbers = sorted({step_of(c) for c in cells})
    for cell in (c for c in cells if limit_of(c) == limit and c.cell_id in found):
        at = numbers.index(step_of(cell))
        by_bin = [[share * 100 for share in values] for values in zip(*found[cell.cell_id])]
        look = {"color": style.colour(at), "linestyle": ("-", "--", ":", "-.")[at % 4]}
        ax.plot(middles, [statistics.mean(v) for v in by_bin], label=str(step_of(cell)[0]), **look)
        ax.fill_between(middles, [min(v) for v in by_bin], [max(v) for v in by_bin],
                        color=look["color"], alpha=0.12, linewidth=0)
    ax.set(xlim=(0, 100), ylim=(0, 105), ylabel=f"busy (%), {limit}")


def draw(found, cells, facts):
    del facts
    cells = [c for c in cells if step_of(c)]
    limits = sorted({limit_of(c) for c in cells}, key=lambda text: (text != "no limit", text))
    shown = limits if found["utilisation"] else []
    steps = len({c.disk for c in cells})
    fig = style.pyplot().figure(figsize=(style.DOUBLE, max(0.42 * steps + 0.9, 1.5 * len(shown))),
                                layout="constrained")
    grid = fig.add_gridspec(max(1, len(shown)), 2 if shown else 1)
    draw_epochs(fig.add_subplot(grid[:, 0]), found["epochs"], cells, limits)
    panels = [fig.add_subplot(grid[row, 1]) for row in range(len(shown))]
    for ax, limit in zip(panels, shown):
        draw_utilisation(ax, found["utilisation"], cells, limit)
    if panels:
        panels[-1].set_xlabel("progress of the epoch (%)")
        above(panels[0], panels[0].get_legend_handles_labels()[0])
    return fig


def describe(found, cells):
    text = ("Loading strategies: epoch of each step, bar: median of the repeats, whisker: least and "
            "greatest, rings: repeats.")
    if found["utilisation"]:
        text += (" Right: share of time that the accelerator is busy, over the progress of the epoch; "
                 "line: mean of the repeats, band: their range.")
    missing = sum(1 for c in cells if step_of(c) and c.cell_id not in found["epochs"])
    return text + (f" {common.plural(missing, 'cell')} without a complete run not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
