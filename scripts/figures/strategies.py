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
import utilisation

STRIP = 0.72  # height of a step's utilisation, of its row
QUERY = "SELECT cell_id, epoch_ns / 1e9 FROM good_run ORDER BY cell_id, repeat"
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
STEP = re.compile(r"^(\d+) (.+)$")


def step_of(cell):
    """(number, name) of the cell's step, or None."""
    match = STEP.match(cell.disk)
    return (int(match[1]), match[2]) if match else None


def limit_word(setting):
    """"1,000 MB/s" of "1000000000B/s"."""
    if setting == "none":
        return "no limit"
    match = re.match(r"^(\d+)(B|[kMGT]B|[KMG]iB)/s$", setting)
    return f"{int(match[1]) * UNITS[match[2]] / 1e6:,.0f} MB/s" if match else setting


def limit_of(cell):
    return limit_word(cell.settings.get("bandwidth-limit", "none"))


def limit_order(word):
    """Sorts limits as words: none first, then from the loosest to the tightest."""
    number = re.match(r"^([\d,]+) MB/s$", word)
    return (word != "no limit", -int(number[1].replace(",", "")) if number else 0, word)


def busy_curves(db, cells):
    """{cell_id: [percent of each part of the epoch, of each run]}; empty without a consumer."""
    try:
        return utilisation.load(db, cells)
    except data.NotApplicable:
        return {}


def load(db, cells):
    if len({c.disk for c in cells if step_of(c)}) < 2:
        raise data.NotApplicable("no steps of loading strategies")
    epochs = data.points_by_cell(db, cells, QUERY)
    if not epochs:
        raise data.NothingToDraw("no step has a complete run")
    return {"epochs": epochs, "utilisation": busy_curves(db, [c for c in cells if step_of(c)])}


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
        ax.annotate(common.digits(middle), (max(values), row), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=6.5)
    ax.set_yticks(range(len(steps)), [f"{number}  {name}" for number, name in steps])
    ax.set_ylim(len(steps) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, max(max(v) for v in epochs.values()) * 1.16)
    ax.set_xlabel("epoch (s)")
    ax.legend(handles=[handles[at] for at in sorted(handles)], ncols=len(handles), loc="lower left",
              bbox_to_anchor=(0, 1), borderaxespad=0.2, handlelength=1.6, handletextpad=0.4,
              columnspacing=0.9)


def draw_strip(ax, row, repeats, colour):
    """Utilisation of one step between 0 and 100 % of a strip: median, range, and its mean in words."""
    def height(percent):
        return row + STRIP * (0.5 - percent / 100)
    of_bin = list(zip(*repeats))
    edges = [100 * at / len(of_bin) for at in range(len(of_bin) + 1)]
    middle = [statistics.median(values) for values in of_bin]
    ax.stairs([height(m) for m in middle], edges, baseline=height(0), fill=True, color=colour, alpha=0.3,
              linewidth=0)
    ax.stairs([height(max(v)) for v in of_bin], edges, baseline=[height(min(v)) for v in of_bin], fill=True,
              color=colour, alpha=0.45, linewidth=0)
    ax.stairs([height(m) for m in middle], edges, baseline=None, color=style.INK, linewidth=0.8)
    ax.hlines([height(0), height(100)], 0, 100, color=style.FAINT, linewidth=0.5, zorder=0)
    mean = statistics.median(sum(r) / len(r) for r in repeats)
    ax.annotate(f"{mean:.0f} %", (100, row), xytext=(3, 0), textcoords="offset points", va="center",
                fontsize=6.5)


def draw_utilisation(ax, found, cells, limits, at):
    """A strip for each step beside its bar."""
    steps = sorted({step_of(c) for c in cells})
    for cell in (c for c in cells if limit_of(c) == limits[at] and c.cell_id in found):
        draw_strip(ax, steps.index(step_of(cell)), found[cell.cell_id], style.colour(at + 1))
    ax.set(xlim=(0, 100), xticks=[0, 50, 100])
    ax.set_title(f"utilisation, {limits[at]}", loc="left")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelleft=False)


def draw(found, cells, facts):
    del facts
    cells = [c for c in cells if step_of(c)]
    limits = sorted({limit_of(c) for c in cells}, key=limit_order)
    shown = range(len(limits)) if found["utilisation"] else ()
    steps = len({step_of(c) for c in cells})
    fig, axes = style.pyplot().subplots(1, 1 + len(shown), figsize=(style.width(), 0.34 * steps + 0.7),
                                        sharey=True, layout="constrained", squeeze=False,
                                        width_ratios=[1.6] + [1] * len(shown))
    first, *strips = axes[0]
    draw_epochs(first, found["epochs"], cells, limits)
    for at, ax in zip(shown, strips):
        draw_utilisation(ax, found["utilisation"], cells, limits, at)
        ax.set_xlabel("progress of the epoch (%)")
    return fig


def describe(found, cells):
    text = ("Loading strategies: epoch of each step, bar: median of the repeats, whisker: least and "
            f"greatest, rings: repeats ({common.span([len(v) for v in found['epochs'].values()], 'repeat')} a step).")
    if found["utilisation"]:
        text += (" Right: utilisation of the accelerator over the progress of the epoch, a strip from 0 to 100 % for "
                 "each step; line: median of the repeats, band: least to greatest, number: of the whole epoch.")
    missing = sum(1 for c in cells if step_of(c) and c.cell_id not in found["epochs"])
    return text + (f" {common.plural(missing, 'cell')} without a complete run not shown." if missing else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
