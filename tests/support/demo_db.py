#!/usr/bin/env python3
"""Fills a results database with made-up but plausible runs, for tests of the report and figures.

    demo_db.py OUT.db [--repeats N] [--cells N] [--no-probe] [--no-fio] [--incomplete N]
               [--disks 2] [--predict] [--consumer]

The tables and their version come from src/store/schema.* itself, so that this file cannot drift from them.
"""
import argparse
import pathlib
import random
import re
import sqlite3
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = (ROOT / "src/store/schema/schema.h").read_text()
APPLICATION_ID = int(re.search(r"kApplicationId = (0x[0-9A-F]+|0x[0-9a-f]+)", SCHEMA).group(1), 16)
VERSION = int(re.search(r"kSchemaVersion = (\d+)", SCHEMA).group(1))
SAMPLES, SAMPLE_BYTES = 20000, 24576
DISK_SECTORS = SAMPLES * SAMPLE_BYTES // 512

# order, merge, shuffle, window, samples/s, request bytes, seconds a sweep, displacement
CELLS = [
    ("random", "none", "none", "10%", 26000, 24576, None, 1.0),
    ("inode", "none", "none", "10%", 41000, 24576, 0.4, 0.02),
    ("lba", "none", "none", "10%", 52000, 24576, 0.4, 0.0),
    ("lba", "kernel", "none", "10%", 71000, 262144, 0.3, 0.0),
    ("lba", "device", "none", "10%", 98000, 1048576, 0.2, 0.0),
    ("chunked", "device", "reservoir", "2%", 82000, 1048576, 0.02, 0.61),
    ("chunked", "device", "reservoir", "10%", 81000, 1048576, 0.02, 0.83),
    ("chunked", "device", "reservoir", "100%", 79000, 1048576, 0.02, 0.99),
]


def create(path: pathlib.Path) -> sqlite3.Connection:
    source = "".join((ROOT / f"src/store/schema/{name}.cpp").read_text(encoding="utf-8")
                     for name in ("schema", "schema_beside", "wide_view"))
    db = sqlite3.connect(path)
    for tables in re.findall(r'R"sql\((.*?)\)sql"', source, re.DOTALL):
        db.executescript(tables)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    return db


def insert(db: sqlite3.Connection, table: str, **values) -> int:
    columns = ", ".join(values)
    marks = ", ".join("?" * len(values))
    return db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})",
                      list(values.values())).lastrowid


# Of each disk: device, model, label, how many times slower.
DISKS = [("loop0", "loop device on ext4", "", 1.0),
         ("loop1", "emulated hdd-7200 x1", "", 120.0)]


def add_experiment(db: sqlite3.Connection, disk) -> int:
    experiment = insert(
        db, "experiment", key="demo", facts_hash="0", started_unix_ns=1_760_000_000_000_000_000,
        kernel="6.12.0-example", cpu="Example CPU 2.1 GHz", hostname="node1", cpus=2,
        memory_bytes=8 << 30, device=disk[0], device_model=disk[1],
        filesystem="ext4", mount_options="rw,noatime", scheduler="[none] mq-deadline kyber ", rotational=0, cgroup="/",
        gpu="", tool_version="0.1.0", git_revision="0123456789ab",
        argv="blksweep run demo.toml --db results.db")
    for name, value in (("nr_requests", "128"), ("max_sectors_kb", "1280"), ("read_ahead_kb", "128")):
        insert(db, "queue_setting", experiment_id=experiment, name=name, value=value)
    for position, (name, value) in enumerate((("kind", "loop"), ("direct_io", "1"), ("rotational", "0"))):
        insert(db, "layer_fact", experiment_id=experiment, position=position, disk=disk[0], name=name,
               value=value)
    for kind, size, depth, rate in (("sequential", 1 << 20, 32, 2.7e9), ("sequential", 1 << 20, 4, 2.2e9), ("random", 4096, 128, 4.2e8)):
        for turn, part in enumerate((0.9, 1.0, 1.4)):  # of the median
            speed = part * rate / disk[3]
            insert(db, "ceiling", experiment_id=experiment, round=turn,
                   started_unix_ns=1_760_000_000_000_000_000 + turn, kind=kind, request_bytes=size,
                   depth=depth, bytes=int(speed / 2), reads=int(speed / 2 / size),
                   elapsed_ns=500_000_000, bytes_per_s=speed, reads_per_s=speed / size,
                   samples_per_byte=1.0)
    if disk[2]:
        insert(db, "disk", experiment_id=experiment, label=disk[2])
    insert(db, "session", experiment_id=experiment, started_unix_ns=1_760_000_000_000_000_000,
           argv=f"blksweep run demo.toml --db results.db --disk-label {disk[0]}")
    return experiment


def add_probe(db, rng, run, spec, begin_ns, epoch_ns):
    order, request = spec[0], spec[5]
    requests = SAMPLES * SAMPLE_BYTES // request
    depth = 30.0 if spec[1] == "none" else 6.0
    insert(db, "probe", run_id=run, requests=requests, bytes=SAMPLES * SAMPLE_BYTES,
           plug_merges=SAMPLES - requests if spec[1] == "kernel" else 0, scheduler_merges=0,
           requeues=0, healed=0, healed_ns=0,
           lost_events=0, depth_mean=depth, stat_difference=0.0)
    points = []
    for at in range(0, epoch_ns, 1_000_000):
        points.append((begin_ns + at, max(0, int(rng.gauss(depth, depth / 6))), 0))
    issues = []
    shown = min(requests, 4000)
    for i in range(shown):
        share = i / shown
        if order == "random":
            where = rng.random()
        elif order == "chunked":
            where = (hash((i // 25, 7)) % 997) / 997 + (i % 25) / shown
        else:
            where = share + (rng.gauss(0, 0.01) if order == "inode" else 0)
        issues.append((begin_ns + int(share * epoch_ns),
                       2048 + int(min(max(where, 0), 1) * DISK_SECTORS), request))
    blob = b"".join(struct.pack("<qII", *p) for p in points)
    insert(db, "series", run_id=run, kind="depth", records=len(points), data=blob)
    blob = b"".join(struct.pack("<qQIqII", *p, 90_000, i, i) for i, p in enumerate(issues))
    insert(db, "series", run_id=run, kind="issue", records=len(issues), data=blob)
    for lower, share in ((request // 2, 0.1), (request, 0.85), (max(4096, request // 8), 0.05)):
        insert(db, "histogram", run_id=run, kind="request_bytes", lower=lower,
               count=max(1, int(requests * share)))
    for lower in range(1, int(depth * 1.5)):
        insert(db, "histogram", run_id=run, kind="depth_requests", lower=lower, count=100)


def add_page_cache(db, run, begin_ns, epoch_ns):
    """Half of the data is found; as much again is read ahead for nothing, a tenth fetched twice."""
    half = SAMPLES * SAMPLE_BYTES // 2
    insert(db, "page_cache", run_id=run, hit_share=0.5, wanted_bytes=2 * half, added_bytes=2 * half + half // 10,
           unwanted_bytes=half, again_bytes=half // 10, evicted_bytes=half // 5, inodes_loaded=SAMPLES, inodes_evicted=SAMPLES // 4,
           dentries_loaded=SAMPLES, shrinker_freed=SAMPLES // 2, readahead_sync=SAMPLES, readahead_async=0,
           readahead_windows=SAMPLES, readahead_bytes=2 * half,
           reclaims=3, reclaimed_bytes=half // 5, reclaim_ns=1_000_000, kswapd_wakes=1, lost_events=0)
    points = [(begin_ns + epoch_ns * i // 50, 2 * half * i // 50, half * i // 50, half * i // 500, half * i // 250,
               SAMPLES * i // 50, SAMPLES * i // 200, SAMPLES * i // 100) for i in range(51)]
    blob = b"".join(struct.pack("<qQQQQQQQ", *p) for p in points)
    insert(db, "series", run_id=run, kind="page_cache", records=len(points), data=blob)


BATCH = 256
COPY_NS, COMPUTE_NS = 700_000, 4_000_000


def batch_times(rng, rate):
    """[(first_submit, ready, copy begin, end, compute begin, end)] in ns since the epoch began.

    Reads of several batches are in flight at once, as a window has it; copies and computations take
    their turns, and no read begins before the batch four ahead of it is consumed.
    """
    read_ns = BATCH / rate * 1e9
    times = []
    ready = copied = computed = 0
    for batch in range(SAMPLES // BATCH):
        room = times[batch - 4][5] if batch >= 4 else 0
        begin = max(int(ready - 2 * read_ns), room, 0)
        ready = max(ready, begin) + int(read_ns * rng.uniform(0.8, 1.2))
        copy = max(ready + 20_000, copied)
        copied = copy + int(COPY_NS * rng.uniform(0.95, 1.1))
        compute = max(copied + 5_000, computed)
        computed = compute + COMPUTE_NS
        times.append((begin, ready, copy, copied, compute, computed))
    return times


def add_batches(db, run, begin_ns, times):
    """Makes the epoch as long as its batches take."""
    for position, batch in enumerate(times):
        first, ready, copy, copied, compute, computed = (begin_ns + t for t in batch)
        insert(db, "batch", run_id=run, position=position, samples=BATCH, bytes=BATCH * SAMPLE_BYTES,
               consumed_ns=computed)
        for stage, begin, end in (("read", first, ready), ("copy", copy, copied), ("compute", compute, computed)):
            insert(db, "batch_stage", run_id=run, position=position, stage=stage, wait_ns=begin, begin_ns=begin,
                   end_ns=end)
    epoch_ns = times[-1][5]
    copying = sum(copied - copy for _, _, copy, copied, _, _ in times)
    hidden = sum(max(0, min(later, copied) - max(begin, copy)) for _, _, copy, copied, _, _ in times
                 for *_, begin, later in times)
    insert(db, "overlap", run_id=run, transfer_ns=copying, kernel_ns=len(times) * COMPUTE_NS, both_ns=hidden,
           exposed_ns=copying - hidden, idle_ns=epoch_ns - copying - len(times) * COMPUTE_NS + hidden,
           bytes=len(times) * BATCH * SAMPLE_BYTES, hidden_bytes=0, slices=len(times),
           asked_ns=len(times) * COMPUTE_NS, fed=0, fed_gap_ns=0, fed_gap_most_ns=0)
    db.execute("UPDATE run SET epoch_ns = ?, first_batch_ns = ?, utilisation = ? WHERE run_id = ?",
               [epoch_ns, times[0][3], len(times) * COMPUTE_NS / epoch_ns, run])


def add_run(db, rng, cell, spec, repeat, options, slower=1.0):
    rate = spec[4] * rng.gauss(1, 0.02) / slower ** (1 if spec[0] == "random" else 0.5)
    epoch_ns = int(SAMPLES / rate * 1e9)
    begin_ns = 10**12 + repeat * 10**10
    quality = spec[7]
    session, = db.execute("SELECT max(session_id) FROM session").fetchone()
    run = insert(
        db, "run", cell_id=cell, session_id=session, repeat=repeat, seed=str(2**64 - 1 - repeat),
        started_unix_ns=1_760_000_000_000_000_000, begin_ns=begin_ns, epoch_ns=epoch_ns,
        plan_ns=2_000_000, first_batch_ns=int(epoch_ns * (0.02 + 0.3 * (spec[3] == "100%"))),
        samples=SAMPLES, missing_samples=0, wrong_samples=None, bytes=SAMPLES * SAMPLE_BYTES,
        reads_submitted=SAMPLES, read_bytes=SAMPLES * SAMPLE_BYTES, gap_bytes=0, seeks=SAMPLES,
        io_errors=0, short_reads=0, device_fallbacks=0,
        device_bytes=int(SAMPLES * SAMPLE_BYTES * 1.01), device_reads=SAMPLES, cpu_ns=epoch_ns // 3,
        resident_before=0.0, resident_after=0.0, utilisation=None, window_peak_bytes=1 << 26,
        arena_bytes=1 << 27, refill=8, submit_batch=None, horizon_bytes=0, groups_cut=0,
        pair_position=0, engine_features="defer_taskrun", engine_refused="",
        emission_hash="00" * 16, quality_displacement=quality,
        quality_rank_decorrelation=quality, quality_neighbours_broken=quality,
        quality_label_mix=quality, incomplete=0, incomplete_reason="")
    if not options.no_probe:
        add_probe(db, rng, run, spec, begin_ns, epoch_ns)
    if options.page_cache:
        add_page_cache(db, run, begin_ns, epoch_ns)
    if options.consumer:
        add_batches(db, run, begin_ns, batch_times(rng, rate))
    if options.predict:
        predicted = int(epoch_ns * rng.gauss(1.03, 0.04))
        insert(db, "prediction", run_id=run, model="hdd-7200", model_hash="0" * 16,
               epoch_ns=predicted, first_batch_ns=None, requests=SAMPLES, depth_mean=31.0,
               error=predicted / epoch_ns - 1)
    if not options.no_fio:
        ratio = rng.gauss(1.05, 0.02)
        speed = SAMPLES * SAMPLE_BYTES / epoch_ns * 1e9
        insert(db, "fio", run_id=run, arm="grouped", version="fio-3.33", command="fio twin.fio",
               job="[twin]", position=1, resident_before=0.0, read_bytes=SAMPLES * SAMPLE_BYTES,
               planned_bytes=SAMPLES * SAMPLE_BYTES, bytes_per_s=speed / ratio,
               reads_per_s=speed / ratio / SAMPLE_BYTES, runtime_ns=epoch_ns,
               cpu_ns=epoch_ns // 2, requests=SAMPLES, device_bytes=SAMPLES * SAMPLE_BYTES,
               probe_requests=None, requests_reason="", ratio=ratio, ratio_reason="")
    return run


def add_cells(db, experiment, count):
    cells = []
    for number, spec in enumerate(CELLS[:count]):
        cells.append(insert(db, "cell", experiment_id=experiment, settings_hash=str(number)))
        settings = {"order": spec[0], "merge": spec[1], "shuffle": spec[2], "window": spec[3],
                    "engine": "io_uring", "depth": "32", "cache": "cold"}
        for position, (name, value) in enumerate(settings.items()):
            insert(db, "cell_setting", cell_id=cells[-1], position=position, name=name, value=value)
    return cells


def fill(path: pathlib.Path, options) -> None:
    rng = random.Random(1)
    with create(path) as db:
        for disk in DISKS[:options.disks]:
            cells = add_cells(db, add_experiment(db, disk), options.cells)
            for repeat in range(options.repeats):
                for cell, spec in zip(cells, CELLS):
                    run = add_run(db, rng, cell, spec, repeat, options, disk[3])
                    insert(db, "warning", run_id=run, position=0,
                           text="loop device: the host's page cache is below it; 'cold' holds for this node only")
        for number in range(options.incomplete):
            run = add_run(db, rng, cells[number % len(cells)], CELLS[0], 90 + number, options)
            db.execute("UPDATE run SET incomplete = 1, incomplete_reason = '12 probe events lost' "
                       "WHERE run_id = ?", [run])


def parse(argv) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cells", type=int, default=len(CELLS))
    parser.add_argument("--incomplete", type=int, default=0)
    parser.add_argument("--disks", type=int, default=1)
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--consumer", action="store_true", help="batches that are copied and used")
    parser.add_argument("--page-cache", action="store_true", help="runs with a cache probe")
    parser.add_argument("--no-probe", action="store_true")
    parser.add_argument("--no-fio", action="store_true")
    return parser.parse_args(argv)


def main(argv) -> int:
    options = parse(argv)
    fill(options.out, options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
