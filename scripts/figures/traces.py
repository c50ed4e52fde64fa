"""Traces of a results database, as their figures draw them; no matplotlib here."""
import dataclasses
import pathlib

import load

NAMES = ("trace_id", "trace", "trace_kind", "requests", "reads", "footprint_bytes", "duration_ns", "gap_variation",
         "sequential", "miss_ratio_error", "timing", "hostname", "kernel", "tool_version", "git_revision")
TRACES_QUERY = f"SELECT {', '.join(NAMES)} FROM trace ORDER BY trace_id"
CURVE_QUERY = "SELECT x, y FROM trace_curve WHERE trace_id = ? AND kind = ? ORDER BY x"
KINDS = ("rate", "depth", "misses")
ACCESS_QUERY = "SELECT time_ns, address, op FROM trace_access WHERE trace_id = ? ORDER BY time_ns"
MOST_TRACES = 6  # of a figure
LONGEST_NAME = 40


@dataclasses.dataclass(frozen=True)
class Trace:
    facts: dict
    curves: dict  # {kind: [(x, y)]}
    accesses: list  # [(ns, address, op)]

    def title(self):
        return f"{self.facts['trace_id']}: {pathlib.PurePath(self.facts['trace']).name[:LONGEST_NAME]}"


def everything(db):
    """Facts of all traces, oldest first; empty for a database of before there were any."""
    if not load.rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'trace'"):
        return []
    return [dict(zip(NAMES, row)) for row in load.rows(db, TRACES_QUERY)]


def load_traces(db):
    """The last MOST_TRACES; NothingToDraw when there is none."""
    found = everything(db)[-MOST_TRACES:]
    if not found:
        raise load.NothingToDraw("there is no trace")
    return [Trace(facts, {kind: load.rows(db, CURVE_QUERY, [facts["trace_id"], kind]) for kind in KINDS},
                  load.rows(db, ACCESS_QUERY, [facts["trace_id"]])) for facts in found]


def caption(text, found):
    lines = [text, f"query: {TRACES_QUERY}; {CURVE_QUERY}; {ACCESS_QUERY}"]
    for one in found:
        f = one.facts
        lines.append(f"trace {one.title()}: {f['requests']:,} requests, {f['timing']} times, looked at "
                     f"on {f['hostname']} by blksweep {f['tool_version']} ({f['git_revision']})")
    return "\n".join(lines) + "\n"


def make(module, db, stem):
    """Draws one figure of traces; returns its caption."""
    import style
    found = load_traces(db)
    fig = module.draw(found)
    style.frame(fig, "", "; ".join(f"{one.title()}: {one.facts['requests']:,} requests" for one in found))
    style.save(fig, stem)
    text = caption(module.describe(found), found)
    pathlib.Path(stem).with_suffix(".txt").write_text(text, encoding="utf-8")
    return text
