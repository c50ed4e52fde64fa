"""A batch in one call against sample by sample, by threads, on a fast and on a remote disk."""
import statistics

import common
import curves
import style

TITLE = "A whole batch in one call"
REPORTED = ("Sample by sample a batch takes 1.23 s with one thread and 0.37 s with many; handed over whole it takes 1.0 s, "
            "whatever their number. From a remote store 35 s become 10 s, and a cache in between does not help.")
NAMES = {"sample": "sample by sample", "batch": "whole batch"}


def threads(cell):
    return int(cell.settings["reader"].partition(":")[2])


def load(db, cells):
    """{disk: {scope: {threads: [ms a batch]}}}."""
    size = int(cells[0].settings["batch"])
    times = curves.by_round(db, cells, f"epoch_ns / 1e6 / ((samples + {size} - 1) / {size})")
    found = {}
    for c in cells:
        of = found.setdefault(c.disk.split(",")[0], {}).setdefault(c.settings["scope"], {})
        of[threads(c)] = list(times.get(c.cell_id, {}).values())
    return found


def draw(loaded, cells, facts):
    del cells, facts
    fig, axes = style.grid(len(loaded), row_inches=1.7, shared=False)
    for ax, (disk, scopes) in zip(axes, loaded.items()):
        handles = [curves.line(ax, scopes[scope], at, NAMES[scope]) for at, scope in enumerate(NAMES, 1) if scope in scopes]
        curves.doubling(ax, [n for points in scopes.values() for n in points])
        everything = [v for points in scopes.values() for values in points.values() for v in values]
        style.measured(ax.yaxis, min(everything), max(everything), "log")
        style.title(ax, f"{disk} disk")
        ax.grid(axis="y")
    fig.supxlabel("worker threads", fontsize=7.5)
    fig.supylabel("epoch over its batches (ms)", fontsize=7.5)
    style.legend_above(fig, handles)
    return fig


def describe(loaded, cells):
    groups = [v for scopes in loaded.values() for points in scopes.values() for v in points.values()]
    return (f"Time of an epoch over its number of batches, {cells[0].settings['batch']} samples each, by the threads that read batches "
            "in random order, cold: each opens, reads and closes one sample after the other, or hands all reads of its batch to "
            f"the kernel at once; median, {curves.spread_text(groups)}; logarithmic.")


def found(loaded, cells):
    del cells
    said = []
    for disk, scopes in loaded.items():
        for scope, points in scopes.items():
            few, many = min(points), max(points)
            said.append(f"{disk}, {NAMES[scope]}: {statistics.median(points[few]):.3g} ms a batch with "
                        f"{common.plural(few, 'thread')}, {statistics.median(points[many]):.3g} ms with {many}")
    return "; ".join(said) + "."
