#!/usr/bin/env python3
"""Throughput by policy: every repeat, median and range, against the device's ceiling and fio."""
import sys

import common
import dots
import load as data
import style

QUERY = "SELECT cell_id, bytes_per_s FROM good_run ORDER BY cell_id, repeat"
# Of the bytes that we delivered, not of those that fio counts, which have padding and gaps in them.
FIO_QUERY = ("SELECT cell_id, fio.bytes_per_s FROM good_run JOIN fio USING (run_id) WHERE arm = 'grouped' "
             "AND fio.ratio IS NOT NULL ORDER BY cell_id, repeat")


def load(db, cells):
    """Bytes per second of each repeat: {"ours": {cell_id: [...]}, "fio": {cell_id: [...]}}."""
    return {"ours": data.points_by_cell(db, cells, QUERY),
            "fio": data.points_by_cell(db, cells, FIO_QUERY)}


def ratio_text(cell):
    """What stands at the end of a row: the paired ratio to the baseline, and whether it counts."""
    if cell.baseline:
        return "baseline"
    value, interval = cell.value("ratio"), cell.interval("ratio")
    if value is None:
        return ""
    if interval is None:
        return f"× {value:.2f}  no verdict"
    return f"× {value:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]" + ("" if cell.differs else f"  {cell.verdict}")


def draw_fio(ax, cells, fio):
    from matplotlib.lines import Line2D
    look = {"linestyle": "", "marker": "D", "markersize": 3.2, "markerfacecolor": "none",
            "markeredgecolor": style.ORANGE, "markeredgewidth": 0.9}
    for row, cell in enumerate(cells):
        values = [v / style.MIB for v in fio.get(cell.cell_id, [])]
        ax.plot(values, [row + 0.28] * len(values), zorder=2, **look)
    return Line2D([], [], label="fio, same bytes and order", **look)


def draw_ceiling(ax, ceiling):
    """The median of all rounds as a line, least to greatest as a band."""
    from matplotlib.lines import Line2D
    look = {"color": style.RED, "linewidth": 1.0, "linestyle": (0, (4, 2))}
    ax.axvline(ceiling.median / style.MIB, zorder=1, **look)
    ax.axvspan(ceiling.least / style.MIB, ceiling.greatest / style.MIB, zorder=0, color=style.RED,
               alpha=0.08, linewidth=0)
    label = f"sequential ceiling {ceiling.median / style.MIB:,.0f} MiB/s"
    if ceiling.rounds > 1 and not style.narrow():
        label += (f" ({ceiling.least / style.MIB:,.0f}–{ceiling.greatest / style.MIB:,.0f} "
                  f"in {ceiling.rounds} rounds)")
    return Line2D([], [], label=label, **look)


def draw(groups, cells, facts):
    fig, ax = dots.figure(len(cells))
    greatest = dots.rows(ax, cells, "bytes_per_s", groups["ours"], style.MIB)
    handles = dots.legend_handles(any(c.runs > 1 for c in cells))
    if groups["fio"]:
        handles.append(draw_fio(ax, cells, groups["fio"]))
        greatest = max(greatest, *(max(v) / style.MIB for v in groups["fio"].values()))
    ceiling = data.sequential_ceiling(facts)
    if ceiling:
        handles.append(draw_ceiling(ax, ceiling))
        greatest = max(greatest, ceiling.greatest / style.MIB)
    everything = [v / style.MIB for of_cell in (*groups["ours"].values(), *groups["fio"].values()) for v in of_cell]
    style.measured(ax.xaxis, min(everything), greatest)
    for row, cell in enumerate(cells):
        dots.note_row(ax, row, ratio_text(cell))
    ax.set_xlabel("throughput (MiB/s of samples delivered)")
    style.rate_ticks(ax)
    style.legend_above(fig, handles)
    return fig


def describe(groups, cells):
    baseline = next((c.label for c in cells if c.baseline), None)
    text = f"Throughput by policy: every repeat, their median and range ({common.repeats_text(cells)} a row)."
    if baseline:
        text += f" At the end of a row: ratio of samples per second to {baseline}, "
        text += (common.interval_text(cells) or "geometric mean over the pairs of a round") + "."
    elif any(c.ratio_to for c in cells):
        text += f" At the end of a row: ratio of samples per second. {common.unseen_baselines(cells)}"
    text += " Band, where the ceiling was measured: least to greatest of its rounds."
    return text + (" fio: the same delivered bytes over fio's time." if groups["fio"] else " No fio twin with a ratio.")


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
