#!/usr/bin/env python3
"""Two experiments beside each other as one page; called by `blksweep report A.db B.db -o DIR`.

Reads DIR/compare.json, in which all numbers are (C++, src/stats/unpaired.h); writes DIR/figures/compare.* and
DIR/compare.html. The databases are not read again.
"""
import argparse
import json
import pathlib
import sys
import traceback

import load
import page
import report
import style


def interval(ratio):
    return None if ratio is None or ratio["low"] is None else (ratio["low"], ratio["high"])


def ratio_text(ratio):
    if ratio is None:
        return "–"
    found = interval(ratio)
    return f"{ratio['value']:.3f}" + (f" [{found[0]:.3f}, {found[1]:.3f}]" if found else "")


def shown_text(ratio):
    if ratio is None or ratio["shown"] is None:
        return "–"
    return "differs" if ratio["shown"] else "not shown"


def draw_ratios(ax, cells, key, colour, offset, marker):
    """One row per cell; returns a handle, or None where there is nothing."""
    handle = None
    for row, cell in enumerate(cells):
        ratio = cell[key]
        if ratio is None:
            continue
        found = interval(ratio)
        if found:
            ax.plot(found, [row + offset] * 2, color=colour, linewidth=1.6)
        filled = colour if ratio["shown"] else "none"
        handle = ax.plot(ratio["value"], row + offset, linestyle="", marker=marker, markersize=4.5,
                         markeredgecolor=colour, markerfacecolor=filled)[0]
    return handle


def draw(cells):
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 0.7 + 0.34 * len(cells)), layout="constrained")
    handles = []
    for key, colour, offset, marker, label in (("ratio", style.BLUE, -0.14, "o", "B / A"),
                                               ("relative_ratio", style.RED, 0.14, "s", "of the ratio to the baseline")):
        handle = draw_ratios(ax, cells, key, colour, offset, marker)
        if handle:
            handles.append(ax.plot([], [], color=colour, marker=marker, markersize=4.5, label=label)[0])
    ax.axvline(1, color=style.GREY, linewidth=0.8, zorder=1)
    ax.set_yticks(range(len(cells)), [load.cut(c["label"]) for c in cells])
    ax.set_ylim(len(cells) - 0.5, -0.5)
    ax.set_xlabel("B / A, samples per second (95 % interval; filled: differs)")
    ends = [v for c in cells for key in ("ratio", "relative_ratio") if c[key]
            for v in (c[key]["value"], *(interval(c[key]) or ()))]
    if style.look.axis == "linear":
        ax.set_xlim(0, max([1, *ends]) * 1.05)
    elif ends:
        ax.set_xscale("log")
        ax.set_xlim(min([1, *ends]) / 1.05, max([1, *ends]) * 1.05)
        style.log_ticks(ax.xaxis) if max([1, *ends]) / min([1, *ends]) > 2 else plain_ticks(ax.xaxis)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    style.legend_above(fig, handles)
    return fig


def plain_ticks(axis):
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
    low, high = axis.get_view_interval()
    step = max(MaxNLocator(5).tick_values(0, high - low)[1], 0.01)
    # Counted from 1, where nothing differs: a step of 0.15 would pass it by.
    axis.set_major_locator(FixedLocator([round(1 + step * n, 9) for n in range(-5, 8) if low <= 1 + step * n <= high]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


CAPTION = ("Ratio of samples per second, B over A: geometric means, Welch's t on logarithms. Runs of two sessions are no "
           "pairs: what the sessions differ by as wholes (drift, another day) is in it and not in its interval. Squares: "
           "the same of each round's ratio to the baseline, which such a difference does not reach.")


def cell_rows(cells):
    def speed(side):
        return page.shown(side["samples_per_s"])
    return [(c["label"], str(c["a"]["runs"]), speed(c["a"]), str(c["b"]["runs"]), speed(c["b"]), ratio_text(c["ratio"]),
             shown_text(c["ratio"]), "baseline" if c["baseline"] else ratio_text(c["relative_ratio"]),
             "" if c["baseline"] else shown_text(c["relative_ratio"])) for c in cells]


HEADS = [("Cell", False), ("n", True), ("A samples/s", True), ("n", True), ("B samples/s", True), ("B / A [95 %]", True),
         ("", False), ("of the baseline", True), ("", False)]


def only(told):
    rows = [(side.upper(), label) for side in ("a", "b") for label in told[f"only_{side}"]]
    return page.table([("Only in", False), ("Cell", False)], rows) if rows else "<p class=soft>None.</p>"


def same_runs(cells):
    """A list with the line on runs that are in both databases, or an empty one."""
    count = sum(c["in_both"] for c in cells)
    return [f"{count} runs are in both: of a difference they say nothing, and the intervals take them for runs of two "
            "sessions."] if count else []


def stopped(told):
    """A list with the line on rounds that were added until intervals were narrow, or an empty one."""
    rate = told["error_rate"]
    return [f"Rounds were added until intervals were narrow (--repeats auto): intervals and words allow for that, t at "
            f"{100 * (1 - rate):.0f} % covers 95 % then."] if rate < 0.05 else []


def build(told, svg):
    facts = [(f["name"], load.cut(f["a"]) or "–", load.cut(f["b"]) or "–") for f in told["facts"] if f["differs"]]
    same = [(f["name"], load.cut(f["a"]) or "–") for f in told["facts"] if not f["differs"]]
    cells = page.table(HEADS, cell_rows(told["cells"])) if told["cells"] else "<p class=soft>No cell is in both.</p>"
    return page.document(
        title="blksweep: two experiments",
        lead=[f"A is {told['a']}, B is {told['b']}. They differ in {len(facts)} facts and have {len(told['cells'])} cells "
             "in common.", *same_runs(told["cells"]), *stopped(told)],
        sections=[("What differs", page.table([("Fact", False), ("A", False), ("B", False)], facts)
                   if facts else "<p class=soft>Nothing that is stored.</p>"),
                  ("Cells in both", cells),
                  *([("B over A", page.figure(svg, CAPTION))] if svg else []),
                  ("Cells in one alone", only(told)),
                  ("What is the same", page.pairs(same))])


def write(output):
    told = json.loads((output / "compare.json").read_text(encoding="utf-8"))
    svg = None
    if told["cells"]:
        stem = output / "figures/compare"
        fig = draw(told["cells"])
        style.frame(fig, "B over A", f"A: {told['a']}; B: {told['b']}. Unpaired; drift between sessions is not in intervals.")
        style.save(fig, stem)
        stem.with_suffix(".txt").write_text(CAPTION + "\n", encoding="utf-8")
        svg = report.inline_svg(stem.with_suffix(".svg").read_text(encoding="utf-8"), "compare")
    (output / "compare.html").write_text(build(told, svg), encoding="utf-8")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("db", type=pathlib.Path, help="not read")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="folder that holds compare.json")
    report.add_look(parser)
    args = parser.parse_args(argv)
    style.use(style.Look(titled=args.title == "on", axis=args.axis))
    try:
        write(args.output)
    except Exception as error:  # one line; where it was raised is for whoever asks
        traceback.print_exc()
        print(load.said(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
