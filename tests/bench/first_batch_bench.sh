#!/usr/bin/env bash
# From the loop's first line to its first batch of 256, in Python, cold, over the size of the data set: planning, and
# for a reservoir the reading of its window. A measurement, never an assertion.   REPEATS=5   FILES=1000000
set -euo pipefail

# shellcheck source=tests/bench/loop_files.bash
. "$(dirname "${BASH_SOURCE[0]}")/loop_files.bash"
loop_files "${FILES:-1000000}"
PYTHONPATH=$(dirname "$BLKSWEEP")/python /usr/bin/python3 - "$loopfs_mount/data" "${REPEATS:-5}" <<'PY'
import os, statistics, subprocess, sys, time
import blksweep

ARMS = {"LBA + device": {"order": "lba", "merge": "device"},
        "the same + reservoir 64 MiB": {"order": "lba", "merge": "device", "shuffle": "reservoir", "window": "64MiB"},
        "the same + reservoir 10 %": {"order": "lba", "merge": "device", "shuffle": "reservoir", "window": "10%"},
        "random, file by file": {"order": "random"}}


def first_batch(loader):
    """ms to the first batch, and of them planning."""
    subprocess.run([os.environ["BLKSWEEP"], "--quiet", "cache", "drop"], check=True, stdout=subprocess.DEVNULL)
    begin = time.perf_counter()
    next(iter(loader))
    took = time.perf_counter() - begin
    planning = loader.stats()["plan_ns"]
    loader.close()
    return took * 1e3, planning / 1e6


catalog = blksweep.Catalog(sys.argv[1])
for name, options in ARMS.items():
    loader = blksweep.Loader(catalog, batch_size=256, **options)
    first_batch(loader)  # its files are compared with the catalog once
    took = [first_batch(loader) for _ in range(int(sys.argv[2]))]
    print(f"   {len(catalog):,} files, {name:28} first batch after {statistics.median(t for t, _ in took):.0f} ms "
          f"({min(took)[0]:.0f} to {max(took)[0]:.0f}), {statistics.median(p for _, p in took):.0f} of them planning", flush=True)
PY
