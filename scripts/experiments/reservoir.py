"""Throughput against shuffle quality, by how the window is filled: the cells that none beats in both."""
import pathlib
import statistics
import sys

import common
import curves
import style

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "figures"))
import quality  # noqa: E402

TITLE = "Filling the shuffle window: throughput against shuffle quality"
REPORTED = ("CorgiPile (Xu et al., SIGMOD 2022) reads blocks in random order and mixes them in a buffer that is filled and emptied "
            "as a whole: close to the rate of a sequential scan, and training converges as with a full shuffle.")


def words(cell):
    """(name, window) of a cell: the name says the policy alone."""
    s = cell.settings
    if s["shuffle"] == "none":
        return {"random": "random order", "chunked": "chunks, no window"}.get(s["order"], s["order"]), "-"
    if s["order"] == "elevator":
        return "LBA-aware reservoir", s["window"]
    order = "" if s["order"] == "chunked" else "LBA order, "
    refill = {"reservoir": "reservoir"}.get(s["shuffle"], "buffer, refilled whole" if s["drain"] not in ("0", "-") else "buffer")
    after = ", next epoch after" if s["next-epoch"] == "after" else ""
    return order + refill + after, s["window"]


def load(db, cells):
    """[(policy, window, [quality], [MiB/s])] of the cells that have both."""
    speeds = curves.by_round(db, cells, f"bytes_per_s / {style.MIB}")
    scores = curves.by_round(db, cells, f"min({', '.join(f'coalesce({name}, 1)' for name in quality.MEASURES)})")
    return [(*words(c), list(scores[c.cell_id].values()), list(speeds[c.cell_id].values()))
            for c in cells if c.cell_id in scores and c.cell_id in speeds]


def middle(point):
    return statistics.median(point[2]), statistics.median(point[3])


def front(points):
    """Those that no other beats in quality and throughput, from the least quality on."""
    found = sorted(map(middle, points))
    return [p for p in found if not any(q[0] >= p[0] and q[1] > p[1] or q[0] > p[0] and q[1] >= p[1] for q in found)]


def size(window):
    """Of a marker: larger for a window of more percent of the data."""
    return 4.5 if window == "-" else 2.8 + float(window.rstrip("%")) / 14


def draw(points, cells, facts):
    del cells, facts
    from matplotlib.lines import Line2D
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 2.2), layout="constrained")
    policies = list(dict.fromkeys(policy for policy, *_ in points))
    handles = []
    for at, policy in enumerate(policies):
        marker = quality.MARKERS[at % len(quality.MARKERS)]
        look = {"color": style.colour(at), "marker": marker, "linestyle": ""}
        for point in (p for p in points if p[0] == policy):
            x, y = middle(point)
            ax.errorbar(x, y, markersize=size(point[1]), xerr=[[x - min(point[2])], [max(point[2]) - x]], yerr=[[y - min(point[3])], [max(point[3]) - y]],
                        elinewidth=0.7, capsize=1.5, markerfacecolor="white" if "after" in policy else style.colour(at),
                        markeredgewidth=0.9, **look)
        handles.append(Line2D([], [], label=policy, markersize=4.5, markerfacecolor="white" if "after" in policy else style.colour(at), **look))
    edge = front(points)
    ax.plot([x for x, _ in edge], [y for _, y in edge], color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
    handles.append(Line2D([], [], color=style.GREY, linewidth=0.8, linestyle="--", label="Pareto front"))
    ax.set_xlim(-0.05, 1.1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("shuffle quality (1: full permutation)")
    ax.set_ylabel("throughput (MiB/s)")
    ax.grid(axis="y")
    style.legend_beside(fig, ax, handles)
    return fig


def describe(points, cells):
    del cells
    return ("Throughput of two epochs with work behind them against shuffle quality, the least of "
            f"{', '.join(quality.MEASURES.values())}; small and large: windows of " + windows(points) + " of the data; hollow: the next epoch's "
            f"window is filled after this epoch; median, {curves.spread_text([p[3] for p in points])}.")


def windows(points):
    shares = sorted({float(w.rstrip("%")) for _, w, *_ in points if w != "-"})
    return " and ".join(f"{share:g} %" for share in shares)


def found(points, cells):
    del cells
    named = {middle(p): p for p in points}
    return "on the front are " + "; ".join(
        f"{named[x, y][0]}{'' if named[x, y][1] == '-' else ' ' + named[x, y][1]} ({x:.2f}, {y:.0f} MiB/s)"
        for x, y in front(points)) + "."
