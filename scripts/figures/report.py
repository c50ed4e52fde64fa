#!/usr/bin/env python3
"""All figures and one self-contained page; called by `blksweep report DB -o DIR`.

Reads DIR/cells.csv and the database; writes DIR/figures/* and DIR/report.html. The page needs no
network: its style and figures are inside it.
"""
import argparse
import dataclasses
import datetime
import html
import pathlib
import re
import sys
import traceback

import common
import depth
import disks
import first_batch
import inodes
import lanes
import load
import map_distance
import map_heat
import maps
import order
import overlap
import page
import page_cache
import prediction
import quality
import replay_lateness
import replay_latency
import replay_rate
import replays
import sawtooth
import scaling
import side_by_side
import sizes
import strategies
import style
import throughput
import trace_addresses
import trace_depth
import trace_misses
import trace_rate
import traces
import utilisation
import window

# Of all disks together; the others are drawn disk by disk, because their scales differ.
JOINT = [
    ("disks", "What a policy gains on each disk", disks),
    ("prediction", "Predicted against measured", prediction),
    ("strategies", "Loading strategies, step by step", strategies),
]
FIGURES = [
    ("throughput", "Throughput by policy", throughput),
    ("quality", "Throughput against shuffle quality", quality),
    ("window", "Over window size", window),
    ("lanes", "The epoch as lanes over time", lanes),
    ("utilisation", "Utilisation over the epoch", utilisation),
    ("overlap", "Transfers that no kernel hid", overlap),
    ("first_batch", "Time to the first batch", first_batch),
    ("depth", "Queue depth over time", depth),
    ("sawtooth", "Where requests go: the sawtooth", sawtooth),
    ("order", "Where requests went, and where the plan wanted them", order),
    ("sizes", "Request sizes", sizes),
    ("page_cache", "What went through the page cache", page_cache),
    ("inodes", "Inodes over the epoch", inodes),
]
MAP_FIGURES = [
    ("map_heat", "Latency by LBA distance", map_heat),
    ("map_distance", "Latency percentiles by LBA distance", map_distance),
]
REPLAY_FIGURES = [
    ("replay_lateness", "How late replays were", replay_lateness),
    ("replay_rate", "What the trace asks for, and what was issued", replay_rate),
    ("replay_latency", "Latency, replayed and recorded", replay_latency),
]
TRACE_FIGURES = [
    ("trace_addresses", "Where a trace's accesses go", trace_addresses),
    ("trace_rate", "Requests of a trace over time", trace_rate),
    ("trace_depth", "Requests in flight when a trace was recorded", trace_depth),
    ("trace_misses", "What a page cache would miss", trace_misses),
]
WARNINGS_QUERY = ("SELECT w.text, count(DISTINCT w.run_id) FROM warning w JOIN run r USING (run_id) "
                  "JOIN cell c USING (cell_id) WHERE c.experiment_id IN "
                  "(SELECT experiment_id FROM cell WHERE cell_id IN ({})) GROUP BY w.text "
                  "ORDER BY count(*) DESC, w.text")


def inline_svg(text, name):
    """An SVG for use inside HTML: no prologue or metadata, and ids that other figures do not have."""
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(name)}" ', 1)


def slug(disk):
    return re.sub(r"[^A-Za-z0-9]+", "-", disk).strip("-").lower()


def wanted(cells):
    """[(file name, title, module, cells)] of every figure that these cells can have."""
    of_disks = load.by_disk(cells)
    if len(of_disks) == 1:
        joint = [(name, title, module, cells) for name, title, module in JOINT]
        return [(name, title, module, cells) for name, title, module in FIGURES] + joint
    found = [(name, title, module, cells) for name, title, module in JOINT]
    for number, (disk, on_disk) in enumerate(of_disks, 1):
        short = [dataclasses.replace(c, label=c.label_on_disk) for c in on_disk]
        found += [(f"{name}-{number}-{slug(disk)}", f"{title}: {disk}", module, short)
                  for name, title, module in FIGURES]
    return found


def draw_one(name, folder, make):
    """(SVG or None, caption or why there is none); `make` writes the files and gives the caption."""
    stem = folder / name
    try:
        text = make(stem)
        return inline_svg(stem.with_suffix(".svg").read_text(encoding="utf-8"), name), text
    except load.NothingToDraw as nothing:
        for old in folder.glob(name + ".*"):  # of an earlier report: it would not be of these runs
            old.unlink()
        folder.mkdir(exist_ok=True)
        (folder / (name + ".none")).touch()  # whoever copies the folder takes an old one away
        if isinstance(nothing, load.NotApplicable):
            raise
        return None, f"Left out: {nothing}."
    except Exception as error:
        raise load.Unwritten(f"figure {name}: {load.said(error)}") from error


def draw_all(db, cells, folder):
    """[(name, title, SVG or None, caption or why there is none)]."""
    def draw(figure):
        name, title, module, shown = figure
        try:
            return name, title, *draw_one(name, folder, lambda stem: common.make(module, db, shown, stem, title))
        except load.NotApplicable:
            return None

    return list(filter(None, side_by_side.mapped(draw, wanted(cells))))


def draw_maps(db, folder):
    """As draw_all; empty for a database without latency maps, which most are."""
    if not maps.newest(db):
        return []
    return [(name, title, *draw_one(name, folder, lambda stem, m=module: maps.make(m, db, stem)))
            for name, title, module in MAP_FIGURES]


def draw_replays(db, folder):
    """As draw_all; empty for a database without replays."""
    if not replays.everything(db):
        return []
    return [(name, title, *draw_one(name, folder, lambda stem, m=module: replays.make(m, db, stem)))
            for name, title, module in REPLAY_FIGURES]


def draw_traces(db, folder):
    """As draw_all; empty for a database without traces."""
    if not traces.everything(db):
        return []
    return [(name, title, *draw_one(name, folder, lambda stem, m=module: traces.make(m, db, stem)))
            for name, title, module in TRACE_FIGURES]


def draw_ranks(db, folder):
    """As draw_all; empty for a database without epochs of ranks."""
    if not scaling.everything(db):
        return []
    name = "ranks_scaling"
    return [(name, "What more ranks bring", *draw_one(name, folder, lambda stem: scaling.make(db, stem)))]


def ranks_table(db):
    def state(r):
        return "complete" if r["complete"] else "incomplete" + (f": {r['fault']}" if r["fault"] else "")
    return page.table(
        [("ranks", True), ("nodes", True), ("read", False), ("samples/s", True), ("batch", True), ("state", False)],
        [[str(r["ranks"]), str(r["nodes"]), scaling.label(r), f"{r['samples_per_s']:,.0f}", page.duration(r["batch_ns"]),
          state(r)] for r in scaling.everything(db)])


def ranks_sections(db, drawn):
    if not drawn:
        return []
    return [("Ranks", ranks_table(db)),
            *((title, page.figure(svg, text)) for _, title, svg, text in drawn)]


def trace_table(db):
    def rate(t):
        return f"{t['requests'] * 1e9 / t['duration_ns']:,.0f}" if t["duration_ns"] > 0 else "–"
    return page.table(
        [("trace", True), ("file", False), ("requests", True), ("reads", True), ("duration", True), ("requests/s", True),
         ("sequential", True), ("footprint", True)],
        [[str(t["trace_id"]), t["trace"], f"{t['requests']:,}", f"{t['reads']:,}", page.duration(t["duration_ns"]), rate(t),
          "–" if t["sequential"] is None else f"{t['sequential']:.2f}", f"{t['footprint_bytes'] / style.MIB:,.1f} MiB"]
         for t in traces.everything(db)])


def trace_sections(db, drawn):
    if not drawn:
        return []
    return [("Traces", trace_table(db)),
            *((title, page.figure(svg, text)) for _, title, svg, text in drawn)]


def replay_table(db):
    def rate(r):
        faithful = r["verdict"] != "unfaithful" and r["length_ns"] > 0
        return f"{r['requests'] * 1e9 / r['length_ns']:,.0f}" if faithful else "–"
    return page.table(
        [("replay", True), ("trace", False), ("onto", False), ("timing", False), ("verdict", False), ("requests/s", True),
         ("late p50", True), ("late p99", True), ("tool p99", True), ("fio p99", True), ("left out", True)],
        [[str(r["replay_id"]), r["trace"], r["target"], replays.timing(r),
          r["verdict"].replace("_", " ") + (" (interrupted)" if r["interrupted"] else "")
          + (" (shared disk)" if r["shared"] else ""), rate(r),
          page.duration(r["late_p50_ns"]), page.duration(r["late_p99_ns"]), page.duration(r["tool_p99_ns"]),
          page.duration(r["fio_p99_ns"]), f"{r['left_out']:,}"] for r in replays.everything(db)])


def replay_sections(db, drawn):
    if not drawn:
        return []
    return [("Replays", replay_table(db)),
            *((title, page.figure(svg, text)) for _, title, svg, text in drawn)]


def map_table(db):
    def known(value, form):
        return "–" if value is None else form.format(value)
    return page.table(
        [("map", True), ("device", False), ("size", True), ("path", True), ("rotation", True)],
        [[str(m["map_id"]), m["device"] + (" (interrupted)" if m["interrupted"] else ""),
          f"{m['size_bytes'] / 2**30:.3g} GiB", page.duration(m["path_ns"]),
          known(m["rotation_ns"] and m["rotation_ns"] / 1e6, "{:.3f} ms")] for m in maps.newest(db)])


def map_sections(db, drawn):
    if not drawn:
        return []
    return [("Latency maps", map_table(db)),
            *((title, page.figure(svg, text)) for _, title, svg, text in drawn)]


def others_page(db, others):
    """Of a database without runs."""
    mapped, replayed, traced = maps.newest(db), replays.everything(db), traces.everything(db)
    ranked = scaling.everything(db)
    counts = [common.plural(len(mapped), "device") + " mapped"] if mapped else []
    counts += [common.plural(len(replayed), "replay")] if replayed else []
    counts += [common.plural(len(traced), "trace")] if traced else []
    counts += [common.plural(len(ranked), "epoch") + " of ranks"] if ranked else []
    what = [name for name, some in (("latency maps", mapped), ("replays", replayed), ("traces", traced),
                                    ("epochs of ranks", ranked)) if some]
    host = (mapped + replayed + traced + ranked)[-1]["hostname"]
    return page.document(title=f"blksweep: {' and '.join(what)} on {host}",
                         lead=[f"{', '.join(counts)}; no runs."], sections=other_sections(db, others))


def other_sections(db, others):
    drawn_maps, drawn_replays, drawn_traces, drawn_ranks = others
    return (map_sections(db, drawn_maps) + replay_sections(db, drawn_replays)
            + trace_sections(db, drawn_traces) + ranks_sections(db, drawn_ranks))


def facts_of(facts):
    host = facts.host
    started = datetime.datetime.fromtimestamp(host["started_unix_ns"] / 1e9, datetime.timezone.utc)
    rotational = {0: "no", 1: "yes"}.get(host["rotational"], "unknown")
    return [
        ("host", host["hostname"]), ("kernel", host["kernel"]),
        ("CPU", f"{host['cpu']} ({common.plural(host['cpus'], 'CPU')})"),
        ("memory", f"{host['memory_bytes'] / 2**30:.1f} GiB"),
        ("device", f"{host['device']}: {host['device_model'] or 'unknown model'}"),
        ("rotational", rotational),
        ("filesystem", f"{host['filesystem']} ({host['mount_options']})"),
        ("I/O scheduler", common.in_use(host["scheduler"])), ("cgroup", host["cgroup"] or "none"),
        ("GPU", host["gpu"] or "none"), ("started", started.strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("blksweep", f"{host['tool_version']}, revision {host['git_revision']}"),
        *commands(facts),
    ]


def commands(facts):
    """Every command that the cells come from; those of one experiment went on with it."""
    if not facts.sessions:
        return [("command", facts.host["argv"])]
    several = len(facts.sessions) > 1
    return [(f"command, experiment {number}" if several else "command", argv)
            for number, argvs in facts.sessions for argv in argvs]


def disk_sections(cells, facts):
    """Node, layers below, queue settings and ceilings of each disk."""
    sections = []
    for (disk, _), of_disk in zip(load.by_disk(cells), (facts, *facts.others)):
        of = f": {disk}" if disk else ""
        sections += [(f"Node{of}", page.pairs(facts_of(of_disk))),
                     (f"What the disk stands on{of}", page.layers(of_disk)),
                     (f"Queue settings{of}", page.pairs(of_disk.queue)),
                     (f"Ceilings{of}", page.ceilings(of_disk))]
    return sections


def build_page(db, output, cells, facts, drawn, others):
    everything = (facts, *facts.others)
    marks = ", ".join("?" * len(cells))
    warnings = load.rows(db, WARNINGS_QUERY.format(marks), [c.cell_id for c in cells],
                         load.LONGEST_ON_PAGE)
    devices = ", ".join(dict.fromkeys(f.host["device"] for f in everything))
    return page.document(
        title=f"blksweep: {devices} on {facts.host['hostname']}",
        lead=page.lead(cells, facts), rig=load.load_rig(output),
        sections=[
            ("Results", page.results(cells, facts)),
            *((title, page.figure(svg, text)) for _, title, svg, text in drawn),
            *other_sections(db, others),
            ("Left out", page.left_out(facts)),
            ("Warnings", page.warnings(warnings)),
            ("Cells", page.settings(cells)),
            *disk_sections(cells, facts),
            ("How to read this", page.how_to_read()),
        ])


def write_page(db, output, no_runs):
    figures = output / "figures"
    others = draw_maps(db, figures), draw_replays(db, figures), draw_traces(db, figures), draw_ranks(db, figures)
    if no_runs:
        text = others_page(db, others)
    else:
        cells = load.load_cells(output / "cells.csv")
        facts = load.load_facts(db, cells)
        text = build_page(db, output, cells, facts, draw_all(db, cells, figures), others)
    (output / "report.html").write_text(text, encoding="utf-8")


def add_look(parser):
    parser.add_argument("--title", choices=["on", "off"], default="off")
    parser.add_argument("--axis", choices=["linear", "log", "auto"], default="auto")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("db", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True,
                        help="folder that holds cells.csv")
    parser.add_argument("--no-runs", action="store_true", help="the database has maps, replays, traces or epochs of ranks, and no runs")
    add_look(parser)
    args = parser.parse_args(argv)
    style.use(style.Look(titled=args.title == "on", axis=args.axis))
    try:
        write_page(args.db, args.output, args.no_runs)
    except load.NothingToDraw as nothing:
        print(f"{args.db}: nothing to report: {nothing}", file=sys.stderr)
        return 3
    except Exception as error:  # of the lines, blksweep shows the last: it says which database
        traceback.print_exc()
        print(f"{args.db}: {load.said(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
