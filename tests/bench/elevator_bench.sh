#!/usr/bin/env bash
# Chunks near the head against chunks in random order, on the emulated rotating disk, cold: throughput beside LBA order
# and how mixed the batches are.
# A measurement, never an assertion.   REPEATS=5   MODEL=hdd-7200
set -euo pipefail

spec=$BENCH_OUT/elevator.toml
cat >"$spec" <<TOML
cache   = "cold"
direct  = true
repeats = ${REPEATS:-5}
probe   = false
ceiling = false
check   = false
depth   = 32
merge   = "device"

[[disk]]
name  = "disk"
size  = "1300MiB"
model = "${MODEL:-hdd-7200}"

[[data]]
name = "files"
make = { count = 4000, size = "110KiB" }

[[cell]]
order = "lba"

[[cell]]
order   = ["chunked", "elevator"]
chunk   = ["1MiB", "4MiB", "24MiB"]
shuffle = "buffer"
window  = "20%"
hold    = 4
TOML
work=$BENCH_OUT/elevator
rm -rf "$work" "$work.db"
trap 'rm -rf "$work"' EXIT
"$BLKSWEEP" --quiet run "$spec" --db "$work.db" --workdir "$work"
