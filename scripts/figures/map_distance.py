#!/usr/bin/env python3
"""Percentiles of read latency by LBA distance, forward and backward, one row per device."""
import sys

import map_axes
import maps
import style

SHARES = [(0.5, style.INK, "-"), (0.9, style.BLUE, (0, (5, 1.5))), (0.99, style.ORANGE, (0, (1.5, 1.2)))]


def curves(one, sign):
    """{share: [(length, latency_ns)]}, ascending in length."""
    lengths = sorted(abs(d) for d in one.latencies if d * sign > 0)
    return {share: [(n, maps.percentile(one.latencies[n * sign], share)) for n in lengths]
            for share, _, _ in SHARES}


def draw(found):
    from matplotlib.lines import Line2D
    scale, name = maps.unit(found)
    fig, pairs = map_axes.halves(len(found), 2.2)
    for one, pair in zip(found, pairs):
        for ax, sign, direction in zip(pair, (-1, 1), ("backward", "forward")):
            for share, colour, dashes in SHARES:
                points = curves(one, sign)[share]
                ax.plot([x for x, _ in points], [y / scale for _, y in points], color=colour,
                        linestyle=dashes, marker="o", markersize=2.2, zorder=3)
            map_axes.seek_lines(ax, one, direction, scale)
            ax.grid(axis="y")
            ax.set_axisbelow(True)
        map_axes.finish(pair, one, name)
        pair[0].set_ylim(bottom=0)
    handles = [Line2D([], [], color=colour, linestyle=dashes, marker="o", markersize=2.2,
                      label=f"p{100 * share:g}") for share, colour, dashes in SHARES]
    if map_axes.has_seeks(found):
        handles += map_axes.seek_handles()
    style.legend_above(fig, handles)
    return fig


def describe(found):
    fewest = min(len(v) for m in found for v in m.latencies.values())
    return ("Percentiles of the latency of 4 KiB direct reads at depth 1 by distance from the end of the "
            f"read before; at least {fewest:,} reads at each distance.")


def main(argv):
    return maps.map_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
