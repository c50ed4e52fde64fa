"""Latency maps of a results database, as the map figures draw them; no matplotlib here."""
import dataclasses

import numpy

import load

# map_read.data, docs/results-schema.md.
READ = numpy.dtype([("begin", "<i8"), ("latency", "<i8"), ("offset", "<u8"), ("distance", "<i8"),
                    ("bytes", "<u4"), ("depth", "<u4")])
MAPS_QUERY = ("SELECT map_id, device, device_model, size_bytes, interrupted, path_ns, rotation_ns, hostname, "
              "kernel, tool_version, git_revision, started_unix_ns FROM map ORDER BY map_id")
READS_QUERY = "SELECT data FROM map_read WHERE map_id = ? AND part = ?"
CURVE_QUERY = "SELECT x, y FROM map_curve WHERE map_id = ? AND kind = ? ORDER BY x"
MOST_MAPS = 4  # panels of a figure
MOST_DISTANCES = 200  # of a map; blksweep map makes 32


@dataclasses.dataclass(frozen=True)
class Map:
    facts: dict
    latencies: dict  # {signed distance: [latency_ns, ascending]}
    seeks: dict      # {"forward" | "backward": [(bytes, ns)]}

    @property
    def reads(self):
        return sum(len(values) for values in self.latencies.values())

    def title(self):
        model = self.facts["device_model"]
        return self.facts["device"] + (f" ({model})" if model else "")


def percentile(ordered, share):
    """Nearest rank of an ascending list: a value that was measured."""
    rank = -(-int(share * 1000) * len(ordered) // 1000)
    return ordered[max(1, rank) - 1]


def by_distance(reads):
    reads = reads[reads["distance"] != 0]
    reads = reads[numpy.lexsort((reads["latency"], reads["distance"]))]
    distances, first = numpy.unique(reads["distance"], return_index=True)
    if len(distances) > MOST_DISTANCES:
        raise load.NothingToDraw(f"a latency map has {len(distances):,} distances, over {MOST_DISTANCES}")
    return dict(zip(distances.tolist(), (part.tolist() for part in numpy.split(reads["latency"], first[1:]))))


def has_maps(db):
    return bool(load.rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'map'"))


def newest(db):
    """Facts of the newest map of each device, in the order of their making."""
    if not has_maps(db):
        return []
    names = [c.strip() for c in MAPS_QUERY[len("SELECT "):MAPS_QUERY.index(" FROM")].split(",")]
    facts = [dict(zip(names, row)) for row in load.rows(db, MAPS_QUERY)]
    last = {f["device"]: f["map_id"] for f in facts}
    return [f for f in facts if last[f["device"]] == f["map_id"]]


def latencies_of(path, number):
    """{signed distance: [latency_ns, ascending]} of one map; empty when it has no such part."""
    with load.connect(path) as db:
        for row, in db.execute(READS_QUERY.replace("data", "rowid"), [number, "distance"]):
            with db.blobopen("map_read", "data", row, readonly=True) as blob:
                return by_distance(load.packed(blob, READ))
    return {}


def load_maps(db):
    """The newest map with distances of each device, the last MOST_MAPS; NothingToDraw when there is none."""
    found = []
    for facts in reversed(newest(db)):
        latencies = latencies_of(db, facts["map_id"]) if len(found) < MOST_MAPS else {}
        if latencies:
            seeks = {kind: load.rows(db, CURVE_QUERY, [facts["map_id"], "seek_" + kind])
                     for kind in ("backward", "forward")}
            found.append(Map(facts, latencies, seeks))
    if not found:
        raise load.NothingToDraw("no latency map with distances ('blksweep map DEV --db' adds one)")
    return found[::-1]


def unit(maps):
    """(ns per unit, its name) that suits the longest usual latency."""
    longest = max(percentile(v, 0.99) for m in maps for v in m.latencies.values())
    return (1e6, "ms") if longest >= 2e6 else (1e3, "µs")


def caption(text, maps):
    """As common.caption, for maps: what is shown, then where it comes from."""
    cut = sum(m.facts["interrupted"] for m in maps)
    words = f" {cut} of them interrupted." if cut else ""
    lines = [f"{text}{words}", f"query: {MAPS_QUERY}; {READS_QUERY}"]
    for m in maps:
        f = m.facts
        lines.append(f"map {f['map_id']}: {m.title()}, {f['size_bytes'] / 2**30:.3g} GiB on {f['hostname']}, "
                     f"{f['kernel']}, blksweep {f['tool_version']} ({f['git_revision']})")
    return "\n".join(lines) + "\n"


def make(module, db, stem):
    """Draws one figure of maps; returns its caption."""
    import pathlib

    import style
    found = load_maps(db)
    fig = module.draw(found)
    style.frame(fig, "", "; ".join(f"{m.title()} on {m.facts['hostname']}, {m.facts['kernel']}" for m in found))
    style.save(fig, stem)
    text = caption(module.describe(found), found)
    pathlib.Path(stem).with_suffix(".txt").write_text(text, encoding="utf-8")
    return text


def map_main(module, argv):
    import argparse
    import pathlib
    import sys
    parser = argparse.ArgumentParser(description=module.__doc__.splitlines()[0])
    parser.add_argument("db", type=pathlib.Path, help="results database with latency maps")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True,
                        help="files to write, without .pdf, .svg, .png, .txt")
    args = parser.parse_args(argv)
    try:
        make(module, args.db, args.output)
    except load.NothingToDraw as nothing:
        print(f"{args.db}: nothing to draw: {nothing}", file=sys.stderr)
        return 3
    return 0
