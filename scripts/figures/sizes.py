#!/usr/bin/env python3
"""Size of the requests that the driver saw, one panel per cell, weighted by count."""
import sys

import common
import load as data
import style

QUERY = ("SELECT r.cell_id, h.lower, sum(h.count) FROM good_run r JOIN histogram h USING (run_id) "
         "WHERE h.kind = 'request_bytes' GROUP BY r.cell_id, h.lower ORDER BY r.cell_id, h.lower")
BELOW = 11  # the bar left of 4 KiB, the step of the probe's buckets: all that is smaller


def by_power(buckets):
    """{exponent: share of requests} of (bytes, count) buckets; a power of two holds [2^e, 2^(e+1)), BELOW what begins at 0."""
    total = sum(count for _, count in buckets)
    shares = {}
    for lower, count in buckets:
        exponent = int(lower).bit_length() - 1 if lower else BELOW
        shares[exponent] = shares.get(exponent, 0) + count / total
    return shares


def load(db, cells):
    """{cell_id: ({exponent: share}, requests)} over all counted runs."""
    wanted = {c.cell_id for c in cells}
    buckets = {}
    for cell, lower, count in data.rows(db, QUERY):
        if cell in wanted and count:
            buckets.setdefault(cell, []).append((lower, count))
    if not buckets:
        raise data.NothingToDraw("no complete run has probe data (--probe needs root and BTF)")
    return {cell: (by_power(b), sum(c for _, c in b)) for cell, b in buckets.items()}


def size_text(exponent):
    """Where a bar begins."""
    if exponent == BELOW:
        return "0"
    for power, unit in ((30, "G"), (20, "M"), (10, "K")):
        if exponent >= power:
            return f"{1 << (exponent - power)}{unit}"
    return str(1 << exponent)


def draw(panels, cells, facts):
    del facts
    shown = [c for c in cells if c.cell_id in panels]
    exponents = [e for shares, _ in panels.values() for e in shares]
    low, high = min(exponents), max(exponents)
    fig, axes = style.grid(len(shown), 1.35)
    for ax, cell in zip(axes, shown):
        shares, requests = panels[cell.cell_id]
        ax.bar([e + 0.5 for e in shares], [100 * s for s in shares.values()], width=0.9,
               color=style.BLUE)
        style.title(ax, cell.label)
        ax.annotate(f"n={requests:,}", (0.02, 0.97), xycoords="axes fraction", va="top", color=style.GREY,
                    fontsize=6.5)
        ax.grid(axis="y")
        ax.set_axisbelow(True)
        ax.set_xlim(low - 0.2, high + 1.2)
        ax.set_ylim(0, 118)  # room for n above full bars
        ax.set_yticks([0, 25, 50, 75, 100])
        step = -(-(high - low + 1) // 6)  # at most seven labels fit
        ticks = range(low, high + 2, step)
        ax.set_xticks(ticks, [size_text(e) for e in ticks])
    fig.supxlabel("request size (bytes, binary; a bar spans one power of two)", fontsize=7.5)
    fig.supylabel("share of requests (%)", fontsize=7.5)
    return fig


def describe(panels, cells):
    text = "Size of the requests that the driver saw, weighted by count; n: requests of all counted runs."
    if any(BELOW in shares for shares, _ in panels.values()):
        text += " Requests below 4 KiB are counted together."
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
