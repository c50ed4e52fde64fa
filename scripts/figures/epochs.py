"""The batches of runs with a copy stage or a consumer, as intervals; shared by lanes and utilisation.

All times are seconds since the start of the epoch. No matplotlib here.
"""
import bisect

import load as data

# Lanes as in docs/account.md; in the window a batch waits for the stage that takes it up next.
STAGES = ("read", "window", "decode", "copy", "release", "compute")
RUNS_QUERY = ("SELECT cell_id, run_id, repeat, begin_ns, epoch_ns FROM good_run g WHERE epoch_ns > 0 AND "
              "EXISTS (SELECT 1 FROM batch_stage s WHERE s.run_id = g.run_id AND stage IN ('copy', 'compute')) "
              "ORDER BY cell_id, repeat")


def runs_by_cell(db, cells):
    """{cell_id: [(run_id, repeat, begin_ns, epoch_ns)]} of runs whose batches went further than the window."""
    wanted = {c.cell_id for c in cells}
    found = {}
    for cell, *run in data.rows(db, RUNS_QUERY):
        if cell in wanted:
            found.setdefault(cell, []).append(tuple(run))
    if not found:
        raise data.NotApplicable("no run has a copy stage or a consumer")
    return found


def median_run(runs):
    """The run whose epoch is the median; of an even number the shorter of the two in the middle."""
    return sorted(runs, key=lambda r: r[3])[(len(runs) - 1) // 2]


STAGE_QUERY = ("SELECT begin_ns, end_ns, position FROM batch_stage WHERE run_id = ? AND stage = ? "
               "AND end_ns >= begin_ns ORDER BY begin_ns, position")
WINDOW_QUERY = ("SELECT begin_ns, end_ns, position FROM (SELECT r.end_ns AS begin_ns, position, coalesce("
                "(SELECT min(n.begin_ns) FROM batch_stage n WHERE n.run_id = r.run_id AND n.position = r.position "
                "AND n.stage IN ('decode', 'copy', 'compute')), b.consumed_ns) AS end_ns "
                "FROM batch_stage r JOIN batch b USING (run_id, position) WHERE r.run_id = ? AND r.stage = 'read') "
                "WHERE end_ns >= begin_ns ORDER BY begin_ns, position")


def intervals(db, run, stage):
    """[(begin_s, end_s, batch)] by beginning; empty where the run does not have the stage."""
    run_id, _, epoch_begin, _ = run
    query, values = (WINDOW_QUERY, [run_id]) if stage == "window" else (STAGE_QUERY, [run_id, stage])
    return [((b - epoch_begin) / 1e9, (e - epoch_begin) / 1e9, batch) for b, e, batch in data.rows(db, query, values)]


def union(spans):
    """Merged [(begin, end)] of spans sorted by beginning: when at least one is there."""
    merged = []
    for begin, end, *_ in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return [tuple(m) for m in merged]


def busy_shares(spans, length, bins):
    """Of each of `bins` equal parts of 0..length the share in which at least one span is there."""
    width = length / bins
    busy = [0.0] * bins
    for begin, end in union(spans):
        begin, end = max(begin, 0.0), min(end, length)
        at = min(bins - 1, int(begin / width))
        while at < bins and at * width < end:
            busy[at] += max(0.0, min(end, (at + 1) * width) - max(begin, at * width))
            at += 1
    return [min(1.0, b / width) for b in busy]


MOST_ROWS, MOST_SPANS = 40, 2000  # of a lane close up: more are too thin to be seen, and take minutes


def rows(spans):
    """[(begin, end, batch, row)]: each on the first row that is free, so that none overlap; see trace_events."""
    ends, placed = [], []
    for begin, end, batch in spans[:MOST_SPANS]:
        row = next((i for i, busy_until in enumerate(ends) if busy_until <= begin), len(ends))
        if row < MOST_ROWS:
            ends[row:row + 1] = [end]
            placed.append((begin, end, batch, row))
    return placed


def excerpt(spans, count):
    """(number of the first, begin_s, end_s) of `count` consecutive spans in the middle of a lane."""
    middle = max(0, (len(spans) - count) // 2)
    chosen = spans[middle:middle + count]
    return middle, chosen[0][0], max(s[1] for s in chosen)


def within(spans, begin, end):
    """The spans that reach into [begin, end], of a list sorted by beginning."""
    last = bisect.bisect_right(spans, end, key=lambda s: s[0])
    return [s for s in spans[:last] if s[1] >= begin]
