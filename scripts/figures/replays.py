"""Replays of a results database, as their figures draw them; no matplotlib here."""
import dataclasses
import pathlib

import load

NAMES = ("replay_id", "trace", "target", "timing", "verdict", "reason", "speed", "requests", "length_ns", "left_out",
         "late_p50_ns", "late_p99_ns", "tool_p99_ns", "fio_version", "fio_p99_ns", "interrupted", "hostname", "kernel",
         "tool_version", "git_revision", "shared", "depth", "addresses")
OF_CELL = ("direct", "awake")  # in the answer; NULL in one that does not say
COLUMNS = [*NAMES, *(f"json_extract(document, '$.cell.{name}')" for name in OF_CELL)]
REPLAYS_QUERY = f"SELECT {', '.join(COLUMNS)} FROM replay ORDER BY replay_id"
CURVE_QUERY = "SELECT x, y FROM replay_curve WHERE replay_id = ? AND kind = ? ORDER BY x"
KINDS = ("late", "late_tool", "late_driver", "late_fio", "latency", "latency_recorded", "due", "issued")
MOST_REPLAYS = 6  # of a figure
LONGEST_NAME = 40


@dataclasses.dataclass(frozen=True)
class Replay:
    facts: dict
    curves: dict  # {kind: [(x, y)]}

    def title(self):
        name = pathlib.PurePath(self.facts["trace"]).name[:LONGEST_NAME]
        return f"{self.facts['replay_id']}: {name}, {timing(self.facts)}"


def timing(facts):
    """"original x4, depth 128, buffered", as src/cli/report/replays.cpp."""
    speed = "" if facts["speed"] == 1 else f" x{facts['speed']:g}"
    words = [f"{facts['timing']}{speed}", f"depth {facts['depth']}", "buffered" if facts["direct"] == 0 else "",
             "awake" if facts["awake"] else "", "" if facts["addresses"] == "as-is" else facts["addresses"]]
    return ", ".join(w for w in words if w)


def everything(db):
    """Facts of all replays, oldest first; empty for a database of before there were any."""
    if not load.rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'replay'"):
        return []
    return [dict(zip(NAMES + OF_CELL, row)) for row in load.rows(db, REPLAYS_QUERY)]


def bears_figures(facts):
    """An unfaithful replay says nothing of the device, half of one nothing of the trace, and one on a disk that others
    used tells of them, too."""
    return facts["verdict"] in ("faithful", "held_back") and not facts["interrupted"] and not facts["shared"]


def load_replays(db):
    """The last MOST_REPLAYS that bear a figure; NothingToDraw when there is none."""
    shown = [facts for facts in everything(db) if bears_figures(facts)][-MOST_REPLAYS:]
    if not shown:
        raise load.NothingToDraw("no replay on a disk of its own is faithful, or held back by the device")
    return [Replay(facts, {kind: load.rows(db, CURVE_QUERY, [facts["replay_id"], kind]) for kind in KINDS})
            for facts in shown]


def cumulative(points):
    """([x], [share at or below]) of buckets."""
    whole = sum(y for _, y in points)
    xs, shares, below = [], [], 0
    for x, y in points:
        below += y
        xs.append(x)
        shares.append(below / whole)
    return xs, shares


def caption(text, found):
    lines = [text, f"query: {REPLAYS_QUERY}; {CURVE_QUERY}"]
    for one in found:
        f = one.facts
        lines.append(f"replay {one.title()} onto {f['target']}: {f['verdict']}, {f['requests']:,} requests, on "
                     f"{f['hostname']}, {f['kernel']}, blksweep {f['tool_version']} ({f['git_revision']})")
    return "\n".join(lines) + "\n"


def make(module, db, stem):
    """Draws one figure of replays; returns its caption."""
    import style
    found = load_replays(db)
    fig = module.draw(found)
    style.frame(fig, "", "; ".join(dict.fromkeys(f"{r.facts['hostname']}, {r.facts['kernel']}" for r in found)))
    style.save(fig, stem)
    text = caption(module.describe(found), found)
    pathlib.Path(stem).with_suffix(".txt").write_text(text, encoding="utf-8")
    return text
