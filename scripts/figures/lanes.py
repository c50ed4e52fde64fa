#!/usr/bin/env python3
"""One epoch of each cell as lanes over time: read, window, copy, compute, and some batches close up."""
import sys

import common
import epochs
import load as data
import style

QUERY = epochs.RUNS_QUERY
MOST_BARS = 400     # of a lane of a whole epoch: what a column of a page can show
BATCHES_A_BIN = 3   # of more; a bin of few would show how batches and bins beat against each other
SHOWN_BATCHES = 10  # close up
MOST_CELLS = 10
COMPARABLE = 4      # epochs that differ by less share one scale
COLOURS = {"read": (style.BLUE, "#7fb8d8"), "window": ("#8c8c8c", "#c6c6c6"),
           "decode": (style.RED, "#eaaf80"), "copy": (style.ORANGE, "#f4cf86"),
           "release": ("#8a6d00", "#c4b06a"), "compute": (style.GREEN, "#80ceb9")}
HEIGHT = 0.8        # of a lane, whose place is 1


def profile(spans, epoch_s, batches):
    """(edges, heights): 1 while a batch is in the stage; of many batches the share of equal parts."""
    if batches > MOST_BARS:
        bins = min(MOST_BARS, batches // BATCHES_A_BIN)
        return [epoch_s * at / bins for at in range(bins + 1)], epochs.busy_shares(spans, epoch_s, bins)
    edges, heights = [0.0], []
    for begin, end in epochs.union(spans):
        edges += [begin, end]
        heights += [0, 1]
    return [*edges, max(epoch_s, edges[-1])], [*heights, 0]


def share(spans, epoch_s):
    return sum(end - begin for begin, end in epochs.union(spans)) / epoch_s


def panel(db, run):
    """What one cell's row shows: {"whole": {lane: shares}, "close": {lane: rows}, ...}; {}: no order."""
    spans = {lane: epochs.intervals(db, run, lane) for lane in epochs.STAGES}
    spans = {lane: found for lane, found in spans.items() if found}
    last = "compute" if "compute" in spans else "copy"
    if last not in spans or "read" not in spans:
        return {}
    epoch_s, batches = run[3] / 1e9, len(spans["read"])
    if all(end <= begin for begin, end, _ in spans["read"]):  # a peer's: only when a batch was there is known
        spans = {lane: found for lane, found in spans.items() if lane not in ("read", "window")}
    first, begin, end = epochs.excerpt(spans[last], SHOWN_BATCHES)
    return {"repeat": run[1], "epoch_s": epoch_s, "batches": batches,
            "first": first, "shown": min(SHOWN_BATCHES, len(spans[last])), "window": (begin, end),
            "whole": {lane: profile(s, epoch_s, batches) for lane, s in spans.items()},
            "share": {lane: share(s, epoch_s) for lane, s in spans.items()},
            "close": {lane: epochs.rows(epochs.within(s, begin, end)) for lane, s in spans.items()}}


def load(db, cells):
    """{cell_id: panel} of the median repeat of the first MOST_CELLS cells that have one."""
    runs = epochs.runs_by_cell(db, cells)
    chosen = [c.cell_id for c in cells if c.cell_id in runs][:MOST_CELLS]
    medians = {cell: epochs.median_run(runs[cell]) for cell in chosen}
    panels = {cell: shown for cell, run in medians.items() if (shown := panel(db, run))}
    if not panels:
        numbers = ", ".join(str(run[0]) for run in medians.values())
        raise data.NothingToDraw(f"no batch of run {numbers} was copied or used at times that are in order")
    return {"panels": panels, "more": len(runs) - len(chosen)}


def draw_whole(ax, shown, longest):
    epoch = shown["epoch_s"]
    for at, (lane, (edges, heights)) in enumerate(shown["whole"].items()):
        floor = at + HEIGHT / 2
        ax.stairs([floor - HEIGHT * h for h in heights], edges, baseline=floor, fill=True,
                  facecolor=COLOURS[lane][0], edgecolor=COLOURS[lane][0], linewidth=0.06,
                  snap=False)  # snapped to points, short batches would vanish
        ax.plot([0, epoch], [floor, floor], color=style.FAINT, linewidth=0.5, zorder=0)
        ax.text(1.01, at, f"{100 * shown['share'][lane]:.0f} %", transform=ax.get_yaxis_transform(),
                va="center", fontsize=6.5)
    ax.plot([epoch, epoch], [-0.5, len(shown["whole"]) - 0.5], color=style.INK, linewidth=0.6,
            clip_on=False)
    ax.set_xlim(0, longest)


def draw_close(ax, shown):
    begin, end = shown["window"]
    for at, (lane, spans) in enumerate(shown["close"].items()):
        count = 1 + max((row for *_, row in spans), default=0)
        tall = HEIGHT / count
        for parity in (0, 1):
            for low in range(count):
                bars = [(max(b, begin) * 1e3, (min(e, end) - max(b, begin)) * 1e3)
                        for b, e, batch, row in spans if row == low and batch % 2 == parity]
                # The edge keeps a batch visible that is shorter than a hair.
                ax.broken_barh(bars, (at - HEIGHT / 2 + low * tall, tall), linewidth=0.2,
                               facecolors=COLOURS[lane][parity], edgecolors=COLOURS[lane][parity])
    ax.set_xlim(begin * 1e3, end * 1e3)
    ax.locator_params(axis="x", nbins=5)


def set_lanes(ax, lanes, labelled):
    ax.set_yticks(range(len(lanes)), lanes if labelled else [""] * len(lanes))
    ax.set_ylim(len(lanes) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def scale_of(panels):
    """The end of a cell's time axis: one for all where their epochs can be compared by eye."""
    epochs_s = [p["epoch_s"] for p in panels]
    common_end = max(epochs_s) if max(epochs_s) < COMPARABLE * min(epochs_s) else None
    return lambda panel: common_end or panel["epoch_s"]


def draw(found, cells, facts):
    del facts
    end_of = scale_of(found["panels"].values())
    shown = [c for c in cells if c.cell_id in found["panels"]]
    fig, axes = style.pyplot().subplots(len(shown), 2, squeeze=False, layout="constrained",
                                        figsize=(style.width(), style.row(1.12, len(shown)) * len(shown) + 0.35),
                                        gridspec_kw={"width_ratios": [1.25, 1]})
    for (whole, close), cell in zip(axes, shown):
        one = found["panels"][cell.cell_id]
        draw_whole(whole, one, end_of(one))
        draw_close(close, one)
        set_lanes(whole, list(one["whole"]), True)
        set_lanes(close, list(one["whole"]), False)
        style.title(whole, cell.label, 26 if style.narrow() else 56)
        close.set_title(f"batches {one['first'] + 1:,} to {one['first'] + one['shown']:,} "
                        f"of {one['batches']:,}", loc="left", pad=3)
    time = "time" if style.narrow() else "time since the start of the epoch"
    axes[-1][0].set_xlabel(f"{time} (s)")
    axes[-1][1].set_xlabel(f"{time} (ms)")
    return fig


def describe(found, cells):
    panels = found["panels"].values()
    text = ("One epoch of each cell (n=1), the repeat whose epoch is the median. Left: the whole epoch, filled while at "
            f"least one batch is in the stage (of more than {MOST_BARS} batches: as high as the share of time with "
            "one; a batch shorter than a hair is a hair); beside it the share of the epoch. Right: the batches in "
            "the middle of the epoch one by one, in two shades by turns, in rows where they overlap (at "
            f"most {epochs.MOST_SPANS:,} batches and {epochs.MOST_ROWS} rows of a lane). Read: from the "
            "first read submitted to the last byte; window: complete, waiting to be copied or used; of a peer neither is known.")
    if any("release" in p["whole"] for p in panels):
        text += " Release: arrived, and what the copy took for that batch alone is given back."
    left_out = sum(p["batches"] - p["shown"] for p in panels)
    if left_out > 0:
        text += f" {left_out:,} further batches are drawn on the left only."
    if found["more"]:
        text += f" {common.plural(found['more'], 'further cell')} not shown."
    without = len(cells) - len(panels) - found["more"]
    return text + (f" {common.plural(without, 'cell')} without a copy stage or consumer not shown." if without else "")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
