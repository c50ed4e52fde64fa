#!/usr/bin/env python3
"""What went through the page cache over the epoch, beside what was delivered; one panel per cell."""
import sys

import common
import load as data
import style
from style import MIB

QUERY = data.SERIES_QUERY.replace("?", "'page_cache'")
WATCHED_QUERY = "SELECT count(*) FROM good_run JOIN page_cache USING (run_id)"
SHARE_QUERY = ("SELECT r.cell_id, p.hit_share FROM good_run r JOIN page_cache p USING (run_id) "
               "ORDER BY r.cell_id, r.repeat DESC")
DELIVERED_QUERY = ("SELECT r.cell_id, r.repeat, max(s.end_ns) - r.begin_ns, b.bytes FROM good_run r JOIN batch b USING (run_id) "
                   "JOIN batch_stage s ON s.run_id = b.run_id AND s.position = b.position AND s.stage = 'read' "
                   "GROUP BY r.run_id, b.position ORDER BY r.cell_id, r.repeat, max(s.end_ns)")


def delivered(path, cells):
    """{cell_id: ([t_s], [MiB])} that had been delivered by then, of the first repeat."""
    wanted, first, curves = {c.cell_id for c in cells}, {}, {}
    for cell, repeat, at, size in data.rows(path, DELIVERED_QUERY):
        if cell in wanted and repeat == first.setdefault(cell, repeat):
            times, sums = curves.setdefault(cell, ([0.0], [0.0]))
            times.append(at / 1e9)
            sums.append(sums[-1] + size / MIB)
    return curves


def load(path, cells):
    """{cell_id: dict of curves, each ([t_s], [MiB]), and "hit": share of the first repeat or None}"""
    if data.rows(path, WATCHED_QUERY)[0][0] == 0:
        raise data.NotApplicable("no run was made with --probe-cache")
    hits = dict(data.rows(path, SHARE_QUERY))  # the last of a cell is its first repeat
    came = delivered(path, cells)
    panels = {}
    for cell, _, seconds, records in data.first_series(path, cells, "page_cache"):
        times = seconds.tolist()
        amounts = {"wanted": records["wanted"], "unwanted": records["added"] - records["wanted"],
                   "again": records["again"], "evicted": records["evicted"]}
        panels[cell] = {name: (times, (of / MIB).tolist()) for name, of in amounts.items()}
        panels[cell].update(delivered=came.get(cell), hit=hits.get(cell))
    return panels


CURVES = [("delivered", "delivered", style.INK, ":"), ("wanted", "fetched", style.BLUE, "-"),
          ("unwanted", "fetched, not wanted", style.ORANGE, "--"), ("again", "fetched again", style.RED, (0, (1, 1))),
          ("evicted", "evicted", style.GREY, "-.")]


def draw(panels, cells, facts):
    del facts
    shown = []
    for cell in (c for c in cells if c.cell_id in panels):
        panel = panels[cell.cell_id]
        hit = "" if panel["hit"] is None else f" ({100 * panel['hit']:.0f} % hits)"
        shown.append((cell.label + hit, panel))
    return style.over_epoch(shown, CURVES, "sum so far (MiB)")


def describe(panels, cells):
    text = ("Pages of the data set's files that were put into the page cache and evicted, summed since the start, beside what "
            "was delivered. Fetched: with a byte that the run delivers; not wanted: without, by read-ahead. Hits: share of the "
            "wanted pages that nobody had to fetch. First repeat of each cell (n=1).")
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
