#!/usr/bin/env python3
"""Heat map of read latency over signed LBA distance, one row per device."""
import sys

import map_axes
import maps
import style

BINS = 80  # of latency


def edges(lengths):
    """Borders between distances, half-way on the logarithmic axis."""
    if len(lengths) == 1:
        return [lengths[0] / 1.5, lengths[0] * 1.5]
    inner = [(a * b) ** 0.5 for a, b in zip(lengths, lengths[1:])]
    return [lengths[0] ** 2 / inner[0], *inner, lengths[-1] ** 2 / inner[-1]]


def levels(one):
    """Borders of the latency bins, ns: linear where a rotation spreads the latencies, else logarithmic."""
    last = max(maps.percentile(v, 0.995) for v in one.latencies.values())
    if one.facts["rotation_ns"] is not None:
        return [last * 1.03 * i / BINS for i in range(BINS + 1)]
    first = min(v[0] for v in one.latencies.values())
    ratio = max(1.05, last / first)
    return [first * ratio ** (i / BINS) for i in range(BINS + 1)]


def density(one, sign, borders):
    """(lengths, share of the reads [latency bin][distance]): every distance adds up to its share inside."""
    lengths = sorted(abs(d) for d in one.latencies if d * sign > 0)
    columns = []
    for length in lengths:
        values = one.latencies[length * sign]
        counts = [0] * (len(borders) - 1)
        at = 0
        for value in values:  # ascending
            while at < len(counts) and value >= borders[at + 1]:
                at += 1
            if at == len(counts):
                break
            if value >= borders[0]:
                counts[at] += 1
        columns.append([c / len(values) for c in counts])
    return lengths, [list(row) for row in zip(*columns)]


def draw(found):
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import PercentFormatter
    scale, name = maps.unit(found)
    fig, pairs = map_axes.halves(len(found))
    for one, pair in zip(found, pairs):
        borders = levels(one)
        shown = [density(one, sign, borders) for sign in (-1, 1)]
        top = max((max(map(max, rows)) for _, rows in shown if rows), default=1)
        mesh = None
        for ax, (lengths, rows), direction in zip(pair, shown, ("backward", "forward")):
            if lengths:
                mesh = ax.pcolormesh(edges(lengths), [b / scale for b in borders], rows, cmap="Blues",
                                     norm=PowerNorm(0.5, 0, top), rasterized=True, linewidth=0)
            map_axes.seek_lines(ax, one, direction, scale)
        map_axes.finish(pair, one, name)
        if one.facts["rotation_ns"] is None:
            log_latency(pair[0])
        bar = fig.colorbar(mesh, ax=list(pair), pad=0.01, aspect=30)
        bar.set_label("share of the reads at a distance")
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0 if top > 0.05 else 1))
        bar.outline.set_visible(False)
    if map_axes.has_seeks(found):
        style.legend_above(fig, map_axes.seek_handles())
    return fig


def log_latency(ax):
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))


def describe(found):
    lines = (" Solid line: path and fitted seek, the least latency; dashed: one revolution more."
             if map_axes.has_seeks(found) else " No rotation was found.")
    return ("Latency of 4 KiB direct reads at depth 1 by distance from the end of the read before; each "
            "column is a distance and adds up to one; the slowest half per cent may lie above." + lines)


def main(argv):
    return maps.map_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
