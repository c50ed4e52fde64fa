#!/usr/bin/env bash
# The bars of docs/performance.md on 50,000 files of 4 KiB, as ratios within one session:
#   - LBA order, and LBA order with device merge, against fio's per-file random reads, depth 128
#   - chunked order with device merge through a reservoir of 10 %, against LBA + device, cold, depth 32
#   - CPU per 4 KiB read at depth 32 against fio's io_uring engine
#   - the probe on against off, depth 128
#   - the catalog scan against a bare open+FIEMAP+close loop
#   - cold files one by one, LBA order: opened by path and by handle, with one opener and two
#   - opening cold files alone, by path and by handle
# A measurement, never an assertion.   REPEATS=5   FILES=50000
set -euo pipefail

repeats=${REPEATS:-5}
files=${FILES:-50000}
data=$BENCH_DIR/data
catalog=$BENCH_OUT/epoch.cat
out=$BENCH_OUT/epoch
# A loop device of our own keeps the scheduler of whoever had it last.
queue=()
[ -z "${BENCH_DEVICE:-}" ] || queue=(--scheduler none)

run() {
  local name=$1
  shift
  "$BLKSWEEP" --quiet run --catalog "$catalog" --seed 1 --repeats "$repeats" --cache warm \
    --no-ceiling --json "${queue[@]}" "$@" >"$out.$name.json"
}

"$BLKSWEEP" --quiet dataset make "$data" --count "$files" --size 4KiB
"$BLKSWEEP" --quiet catalog "$data" -o "$catalog"
run orders --order random,lba --merge none,device --depth 128 --no-probe --fio-twin
run cpu --order random --depth 32 --no-probe --fio-twin
for i in $(seq "$repeats"); do # in turn, not one cell after the other
  run "straight.$i" --order lba --merge device --depth 32 --no-probe --cache cold --repeats 1
  run "window.$i" --order chunked --merge device --shuffle reservoir --window 10% --depth 32 \
    --no-probe --cache cold --repeats 1
done
run cold --order lba --merge none --open-by path,handle --openers 1,2 --depth 32 --no-probe --cache cold
for i in $(seq "$((repeats * 2))"); do
  run "probe_off.$i" --order random --depth 128 --no-probe --repeats 1 --seed "$i"
  run "probe_on.$i" --order random --depth 128 --probe --repeats 1 --seed "$i"
done

/usr/bin/python3 - "$out" "$((repeats * 2))" "$repeats" <<'PY'
import json
import statistics
import sys

out, pairs, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
median = statistics.median


def runs(name):
    with open(f"{out}.{name}.json") as f:
        return json.load(f)["runs"]


def spread(values):
    return f"median {median(values):.2f}, {min(values):.2f} to {max(values):.2f}"


orders = runs("orders")
cell = {}
for r in orders:
    cell.setdefault((r["cell"]["order"], r["cell"]["merge"]), {})[r["repeat"]] = r
fio = {i: r["fio"]["runtime_ns"] for i, r in cell["random", "none"].items()}
for key, bar in ((("random", "none"), None), (("lba", "none"), 2.5), (("lba", "device"), 4)):
    ratios = [fio[i] / r["epoch_ns"] for i, r in cell[key].items()]
    rate = median([r["samples_per_s"] for r in cell[key].values()])
    print(f"{key[0]:>7} + {key[1]:<7} / fio random per file, depth 128: {spread(ratios)}"
          f"  (bar {bar}; {rate:,.0f} files/s)")
ours = [r["cpu_ns"] / r["samples"] / 1e3 for r in runs("cpu")]
fios = [r["fio"]["cpu_ns"] / r["samples"] / 1e3 for r in runs("cpu")]
print(f"CPU per 4 KiB read, depth 32: {median(ours):.2f} us, fio {median(fios):.2f} us: ratio "
      f"{spread([a / b for a, b in zip(ours, fios)])}  (bar 0.8)")
rates = [[runs(f"{cell}.{i}")[0]["samples_per_s"] for i in range(1, repeats + 1)]
         for cell in ("window", "straight")]
print(f"chunked + device + reservoir / lba + device, cold, depth 32: "
      f"{spread([a / b for a, b in zip(*rates)])}  (bar 0.9; {median(rates[0]):,.0f} files/s)")
cold = {}
for r in runs("cold"):
    cold.setdefault((r["cell"]["open-by"], r["cell"]["openers"]), {})[r["repeat"]] = r
by_path = {i: r["epoch_ns"] for i, r in cold["path", 1].items()}
for way, found in cold.items():
    ratios = [by_path[i] / r["epoch_ns"] for i, r in found.items()]
    us = median([r["epoch_ns"] / r["samples"] / 1e3 for r in found.values()])
    cpu = median([r["cpu_ns"] / r["samples"] / 1e3 for r in found.values()])
    print(f"cold, lba + none, by {way[0]}, {way[1]} openers / by path, 1: {spread(ratios)}  "
          f"({us:.1f} us a file, {cpu:.1f} us of CPU)")
on = [runs(f"probe_on.{i}")[0]["samples_per_s"] for i in range(1, pairs + 1)]
off = [runs(f"probe_off.{i}")[0]["samples_per_s"] for i in range(1, pairs + 1)]
print(f"probe on / off, depth 128: {spread([a / b for a, b in zip(on, off)])}, ratio of medians "
      f"{median(on) / median(off):.3f}  (bar 0.95)")
PY
"$BENCH_OUT/catalog_bench" "$data"
"$BENCH_OUT/open_bench" "$catalog"
