#!/usr/bin/env bash
# The bars of docs/performance.md "Emulated disk", by real fio and by our own runs, through the
# real kernel; 8 minutes, nearly all of it waiting for a modelled disk.
#   - base cost of the path (model none), pacing of hdd-7200 against analysis and simulation
#   - order, windows and merging on small files; the latency map and the predictions from it
# A measurement, never an assertion.   SECONDS_EACH=30   SMALL_FILES=20000   LARGE_FILES=4000
set -euo pipefail

each=${SECONDS_EACH:-30}
small=${SMALL_FILES:-20000}
large=${LARGE_FILES:-4000}
name=bench-$$
out=$BENCH_OUT/disk
mount=$out/mount

if [ "$(id -u)" != 0 ] || ! command -v fio >/dev/null; then
  echo '   needs root and fio'
  exit 77
fi
cleanup() { "$BLKSWEEP" --quiet disk stop "$name" 2>/dev/null || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM
rm -rf "$out"
mkdir -p "$mount"

disk() { "$BLKSWEEP" --quiet disk "$@"; }
# start MODEL [OPTION...]: sets `device`
start() {
  local model=$1
  shift
  disk start "$name" --model "$model" --size 8GiB "$@" --json >"$out/start.json"
  device=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["device"])' <"$out/start.json")
}
read_with_fio() {
  local label=$1
  shift
  fio --name=job --filename="$device" --readonly --direct=1 --ioengine=io_uring --time_based \
    --randrepeat=0 --output-format=json "$@" >"$out/fio.$label.json"
}

echo '   base cost: no model, memory'
start none
for i in 1 2 3; do
  read_with_fio "base_d1.$i" --rw=randread --bs=4k --iodepth=1 --runtime=4
  read_with_fio "base_d32.$i" --rw=randread --bs=4k --iodepth=32 --runtime=4
  read_with_fio "base_seq.$i" --rw=read --bs=1m --iodepth=8 --runtime=4
done

echo "   hdd-7200 by fio, $each s each"
disk set "$name" --model hdd-7200
read_with_fio hdd_d1 --rw=randread --bs=4k --iodepth=1 --runtime="$each"
read_with_fio hdd_d32 --rw=randread --bs=4k --iodepth=32 --runtime="$each"
read_with_fio hdd_seq --rw=read --bs=1m --iodepth=1 --size=400m --runtime=8
disk set "$name" --speedup 10
read_with_fio fast_d1 --rw=randread --bs=4k --iodepth=1 --runtime="$((each / 2))"
read_with_fio fast_d32 --rw=randread --bs=4k --iodepth=32 --runtime="$((each / 2))"
read_with_fio fast_seq --rw=read --bs=1m --iodepth=1 --size=1g --runtime=4
disk stats "$name" --json >"$out/stats.json"
disk model hdd-7200 --size 8GiB --json >"$out/sheet.json"

echo '   latency map, 60 s'
disk set "$name" --speedup 1
"$BLKSWEEP" --quiet map "$device" --seconds 60 --fit "$out/measured.toml" --json >"$out/map.json"
disk stop "$name"

run() {
  local label=$1 catalog=$2
  shift 2
  "$BLKSWEEP" --quiet run --catalog "$catalog" --seed 1 --no-ceiling --no-probe --cache keep \
    --depth 32 --model "$out/measured.toml" --json "$@" >"$out/run.$label.json"
}

echo "   $small files of 4 KiB and $large of 110 KiB on ext4"
start none --fs ext4 --mount "$mount"
"$BLKSWEEP" --quiet dataset make "$mount/small" --count "$small" --size 4KiB
"$BLKSWEEP" --quiet dataset make "$mount/large" --count "$large" --size 110KiB
"$BLKSWEEP" --quiet catalog "$mount/small" -o "$out/small.cat"
"$BLKSWEEP" --quiet catalog "$mount/large" -o "$out/large.cat"
disk set "$name" --model hdd-7200
run small_random "$out/small.cat" --order random
run small_lba "$out/small.cat" --order lba --merge none,kernel,device --repeats 3
run large_windows "$out/large.cat" --order random --sort-window 2%,10%,25%,100%
run large_random "$out/large.cat" --order random
run large_lba "$out/large.cat" --order lba --merge none,device --repeats 3

/usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/disk_bench.py" "$out"
