#!/usr/bin/env python3
"""Inodes loaded, given up and reclaimed per second over the epoch; one panel per cell."""
import sys

import numpy

import common
import load as data
import style

BINS = 40
CURVES = [("inodes_loaded", "inodes loaded by the reader", style.BLUE, "-"), ("inodes_evicted", "inodes given up", style.ORANGE, "--"),
          ("shrinker_freed", "inodes and dentries freed by shrinkers", style.GREY, "-.")]
KNOWN_QUERY = ("SELECT r.cell_id, p.inodes_loaded, p.inodes_evicted, p.shrinker_freed "
               "FROM good_run r JOIN page_cache p USING (run_id) ORDER BY r.cell_id, r.repeat DESC")
QUERY = data.SERIES_QUERY.replace("?", "'page_cache'")
MOVED_QUERY = ("SELECT count(*) FROM good_run JOIN page_cache USING (run_id) "
               "WHERE max(ifnull(inodes_loaded, 0), ifnull(inodes_evicted, 0), ifnull(shrinker_freed, 0)) > 0")


def rates(seconds, sums, epoch):
    """([begin of each bin, s], [per second]) of a sum that grows."""
    edges = numpy.linspace(0, epoch, BINS + 1)
    at_edges = numpy.interp(edges, seconds, sums.astype(float))
    return edges[:-1].tolist(), (numpy.diff(at_edges) / (epoch / BINS)).tolist()


def load(path, cells):
    """{cell_id: {column: ([s], [per second]) or None where the kernel does not tell}}"""
    if data.rows(path, MOVED_QUERY)[0][0] == 0:
        raise data.NotApplicable("no run with --probe-cache loaded inodes or gave any up")
    known = {cell: counts for cell, *counts in data.rows(path, KNOWN_QUERY)}  # the last of a cell is its first repeat
    panels = {}
    for cell, epoch, seconds, records in data.first_series(path, cells, "page_cache"):
        panels[cell] = {name: None if count is None else rates(seconds, records[name], epoch)
                        for (name, *_), count in zip(CURVES, known[cell])}
    return panels


def draw(panels, cells, facts):
    del facts
    shown = [(c.label, panels[c.cell_id]) for c in cells if c.cell_id in panels]
    fig = style.over_epoch(shown, CURVES, "per second", drawstyle="steps-post")
    fig.axes[0].yaxis.set_major_formatter("{x:,.0f}")
    return fig


def describe(panels, cells):
    text = (f"Inodes per second, in {BINS} equal parts of the epoch: loaded by the process that reads; given up by the data set's "
            "filesystem; inodes and dentries that its shrinkers gave back, for want of memory or because somebody dropped "
            "caches. First repeat of each cell (n=1).")
    return text + common.without_probe(panels, cells)


def main(argv):
    return common.figure_main(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
