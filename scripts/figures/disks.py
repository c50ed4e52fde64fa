#!/usr/bin/env python3
"""What a policy gains on each disk: samples per second against the same disk's baseline."""
import sys

import common
import dots
import load as data
import style

QUERY = "SELECT cell_id, session_id, repeat, samples_per_s FROM good_run ORDER BY cell_id, repeat"
MARKERS = "osD^vP*X<>"
LOG_FROM = 10  # greatest over least ratio from which the axis is logarithmic


def baseline_of(cells):
    """{disk: cell_id of its baseline}."""
    return {c.disk: c.cell_id for c in cells if c.baseline}


def load(db, cells):
    """{cell_id: [ratio to the baseline of its disk in the same round and session]}; the baseline: 1."""
    if len(data.by_disk(cells)) < 2:
        raise data.NotApplicable("one disk")
    wanted = {c.cell_id for c in cells}
    speeds = {}
    for cell, session, repeat, speed in data.rows(db, QUERY):
        if cell in wanted and session is not None:
            speeds.setdefault(cell, {})[session, repeat] = speed
    baselines = baseline_of(cells)
    found = {}
    for c in cells:
        base = speeds.get(baselines.get(c.disk), {})
        ratios = [v / base[r] for r, v in speeds.get(c.cell_id, {}).items() if base.get(r)]
        if ratios:
            found[c.cell_id] = ratios
    if not found:
        raise data.NothingToDraw("no cell has a run beside the baseline of its disk")
    return found


def rows_of(cells):
    """Cells of several disks that have the same settings share a row: [label]."""
    return list(dict.fromkeys(c.label_on_disk for c in cells))


def draw_disk(ax, at, shift, cells, found, rows, most):
    look = {"color": style.colour(at + 1), "marker": MARKERS[at % len(MARKERS)], "linestyle": ""}
    handle = None
    for cell in cells:
        ratios = found.get(cell.cell_id, [])
        row = rows.index(cell.label_on_disk) + shift
        ax.plot(ratios, [row] * len(ratios), markersize=3, markerfacecolor="none",
                markeredgewidth=0.6, **look)
        interval, value = cell.interval("ratio"), cell.value("ratio") or (1.0 if cell.baseline else None)
        if interval:
            ax.plot(interval, [row, row], color=look["color"], linewidth=2.0, solid_capstyle="butt")
        if value is not None:
            handle = ax.plot(value, row, markersize=5, label=cells[0].disk, **look)[0]
            end = max(value, *ratios, min(interval[1], most) if interval else 0)
            ax.annotate(common.digits(value), (end, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=6.5,
                        color=look["color"])
    return handle


def draw(found, cells, facts):
    del facts
    rows = rows_of(cells)
    fig, ax = style.pyplot().subplots(figsize=(style.width(), (0.5 if style.narrow() else 0.4) * len(rows) + 1.0),
                                      layout="constrained")
    disks = data.by_disk(cells)
    step = 0.6 / len(disks)
    values = [v for ratios in found.values() for v in ratios]
    most = max(values) * 1.1
    handles = [draw_disk(ax, at, step * (at - (len(disks) - 1) / 2), of_disk, found, rows, most)
               for at, (_, of_disk) in enumerate(disks)]
    style.measured(ax.xaxis, min(values), most,
                   "log" if max(values) / min(values) > LOG_FROM else "linear")
    ax.axvline(1, color=style.GREY, linewidth=0.8)
    dots.name_rows(ax, rows)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    ax.set_xlabel("samples/s as a ratio to the disk's baseline")
    style.rate_ticks(ax)
    style.legend_above(fig, [h for h in handles if h])
    return fig


def describe(found, cells):
    pairs = common.span([len(ratios) for ratios in found.values()], "round")
    base = sorted({c.label_on_disk for c in cells if c.baseline})
    mean = common.interval_text(cells) or "geometric mean over the pairs of a round"
    line = "; line: the interval" if common.interval_text(cells) else ""
    return (f"What a policy gains on each disk: filled, ratio of samples per second to {' or '.join(base)} on the same "
            f"disk, {mean}{line}; hollow, the ratio of each round ({pairs}).")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
