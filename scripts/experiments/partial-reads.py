"""Epoch time by the share of each sample that is read, measured and predicted from the disk's model."""
import statistics

import common
import curves
import load as data
import style

TITLE = "Reading the first part of each sample"
REPORTED = ("Progressive compressed records (Kuchnik et al., VLDB 2021) halve the bytes and train about twice as fast, where the "
            "bandwidth of storage is the limit.")
QUERY = """SELECT r.cell_id, p.epoch_ns / 1e9 FROM prediction p JOIN good_run r USING (run_id)"""


def load(db, cells):
    """{data set: {order: {share: ([epoch of whole samples = 1], [predicted, of the same unit])}}}"""
    epochs = curves.by_round(db, cells, "epoch_ns / 1e9")
    predicted = data.points_by_cell(db, cells, QUERY)
    whole = {key(c): statistics.median(epochs[c.cell_id].values()) for c in cells
             if curves.number(c, "read-share") == 100 and c.cell_id in epochs}
    found = {}
    for c in cells:
        if c.cell_id in epochs and key(c) in whole:
            unit = whole[key(c)]
            of = found.setdefault(key(c)[0], {}).setdefault(key(c)[1], {})
            of[curves.number(c, "read-share")] = ([e / unit for e in epochs[c.cell_id].values()],
                                                  [p / unit for p in predicted.get(c.cell_id, [])])
    if not found:
        raise data.NothingToDraw("no complete run of whole samples")
    return found


def key(cell):
    return cell.disk.split(", ")[-1], cell.settings["order"]


ORDERS = {"random": ("random order", 1), "lba": ("LBA order", 4)}


def draw(found, cells, facts):
    del cells, facts
    fig, axes = style.grid(len(found), row_inches=1.6)
    for ax, (name, orders) in zip(axes, found.items()):
        for at, (order, points) in enumerate(orders.items()):
            handle = curves.line(ax, {share: pair[0] for share, pair in points.items()}, ORDERS[order][1], ORDERS[order][0])
            del at, handle
            known = {share: statistics.median(pair[1]) for share, pair in sorted(points.items()) if pair[1]}
            ax.plot(list(known), list(known.values()), linestyle="", marker="x", markersize=4.5, color=style.INK, zorder=5)
        ax.plot([0, 100], [0, 1], color=style.GREY, linewidth=0.6, zorder=0)
        style.title(ax, {"small": "samples of 110 KiB", "large": "samples of 4 MiB"}.get(name, name))
        ax.grid(axis="y")
        ax.set_xticks([0, 25, 50, 100])
    style.from_zero(axes)
    fig.supxlabel("part of each sample that is read (%)", fontsize=7.5)
    fig.supylabel("epoch (whole = 1)", fontsize=7.5)
    style.legend_above(fig, handles(axes[0]))
    return fig


def handles(ax):
    from matplotlib.lines import Line2D
    return [*ax.get_legend_handles_labels()[0],
            Line2D([], [], linestyle="", marker="x", markersize=4.5, color=style.INK, label="predicted"),
            Line2D([], [], color=style.GREY, linewidth=0.6, label="as bytes")]


def describe(found, cells):
    del cells
    groups = [pair[0] for orders in found.values() for points in orders.values() for pair in points.values()]
    return ("Epoch over that of whole samples in the same order, by the first part that is read, and what the disk's model predicts of "
            f"the same reads; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    said = []
    for name, orders in loaded.items():
        for order, points in orders.items():
            share = min(points)
            measured, predicted = points[share]
            said.append(f"{name}, {ORDERS[order][0]}: {share:g} % of the bytes take {statistics.median(measured):.2g} of the time"
                        + (f" (predicted {statistics.median(predicted):.2g})" if predicted else ""))
    return "; ".join(said) + "."
