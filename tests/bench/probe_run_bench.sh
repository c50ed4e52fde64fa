#!/usr/bin/env bash
# What the probe costs a run: files of 4 KiB read in random order at depth 128 without a probe, with it, and with all of
# it (layers, attribution, page cache), interleaved, every turn beginning with another; a second arm without a probe says
# what the machine's noise is. First on a disk of 90,000 reads a second (io.max), then on one without a limit, then
# through the page cache, where its probe has most to do.
# A measurement, never an assertion.   REPEATS=9   FILES=100000
set -euo pipefail

# shellcheck source=tests/bench/loop_files.bash
. "$(dirname "${BASH_SOURCE[0]}")/loop_files.bash"
loop_files "${FILES:-100000}"
"$BLKSWEEP" --quiet catalog "$loopfs_mount/data" --output "$BENCH_DIR/data.cat" >/dev/null
/usr/bin/python3 - "$BLKSWEEP" "$BENCH_DIR/data.cat" "${REPEATS:-9}" <<'PY'
import json, statistics, subprocess, sys

blksweep, catalog, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
ARMS = {"off": ["--no-probe"], "off again": ["--no-probe"], "on": [], "all": ["--probe-layers", "--probe-cache"]}
WAYS = {"90,000 reads/s": ["--iops-limit", "90000"], "no limit": [], "buffered": ["--buffered", "--cache", "cold"]}


def run(options, seed):
    """Samples a second, and the process's ns of CPU a sample."""
    command = [blksweep, "--quiet", "run", "--catalog", catalog, "--order", "random", "--depth", "128",
               "--seed", str(seed), "--no-check", "--no-ceiling", "--json", *options]
    done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["runs"][0]
    return done["samples_per_s"], done["cpu_ns"] / done["samples"]


def compare(options):
    run(options, 0)
    seen = {arm: [] for arm in ARMS}
    for turn in range(repeats):
        names = list(ARMS)
        first = turn % len(names)
        for arm in names[first:] + names[:first]:
            seen[arm].append(run(options + ARMS[arm], turn + 1))
    return seen


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


for way, options in WAYS.items():
    seen = compare(options)
    print(f"   {way}: {statistics.median(rate for rate, _ in seen['off']):,.0f} samples/s without a probe", flush=True)
    for arm in list(ARMS)[1:]:
        pairs = list(zip(seen[arm], seen["off"]))
        print(f"   {arm + ' / off':16} samples/s {spread([a[0] / b[0] for a, b in pairs])}, "
              f"CPU a sample {spread([a[1] / b[1] for a, b in pairs])}", flush=True)
PY
