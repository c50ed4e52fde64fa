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
  disk start "$name" --model "$model" "$@" --json >"$out/start.json"
  device=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["device"])' <"$out/start.json")
}
read_with_fio() {
  local label=$1
  shift
  "$BLKSWEEP" --quiet node exec --device "$device" --scheduler none -- \
    fio --name=job --filename="$device" --readonly --direct=1 --ioengine=io_uring --randrepeat=0 \
    --output-format=json "$@" >"$out/fio.$label.json"
}

# Most of the outermost zone, once: loops of time_based would begin with what is in the disk's cache.
read_zone() {
  local i
  for i in 1 2 3; do
    read_with_fio "$1.$i" --rw=read --bs=1m --iodepth=1 --size=500m
  done
}

echo '   base cost: no model, memory'
start none --size 8GiB
# A hole is read without touching memory: the sequential figure is of data.
fio --name=fill --filename="$device" --direct=1 --rw=write --bs=1m --size=1g >/dev/null
for i in 1 2 3; do
  read_with_fio "base_d1.$i" --rw=randread --bs=4k --iodepth=1 --time_based --runtime=4
  read_with_fio "base_d32.$i" --rw=randread --bs=4k --iodepth=32 --time_based --runtime=4
  read_with_fio "base_seq.$i" --rw=read --bs=1m --iodepth=8 --size=1g --time_based --runtime=4
done

echo "   hdd-7200 by fio, $each s each"
disk set "$name" --model hdd-7200
read_with_fio hdd_d1 --rw=randread --bs=4k --iodepth=1 --time_based --runtime="$each"
read_with_fio hdd_d32 --rw=randread --bs=4k --iodepth=32 --time_based --runtime="$each"
read_zone hdd_seq
disk set "$name" --speedup 10
read_with_fio fast_d1 --rw=randread --bs=4k --iodepth=1 --runtime="$((each / 2))"
read_with_fio fast_d32 --rw=randread --bs=4k --iodepth=32 --runtime="$((each / 2))"
read_zone fast_seq
disk stats "$name" --json >"$out/stats.json"
disk model hdd-7200 --size 8GiB --json >"$out/sheet.json"

echo '   latency map, 60 s'
disk set "$name" --speedup 1
"$BLKSWEEP" --quiet map "$device" --seconds 60 --db "$out/maps.db" --fit "$out/measured.toml" --json >"$out/map.json"
disk stop "$name"

# The fitted model holds for the disk that was mapped; of another size the shipped one predicts.
run() {
  local label=$1 catalog=$2 model=$out/measured.toml
  [[ $label != small_2GiB* ]] || model=hdd-7200
  shift 2
  "$BLKSWEEP" --quiet run --catalog "$catalog" --seed 1 --no-ceiling --no-probe --cache keep \
    --scheduler none --depth 32 --model "$model" --json "$@" >"$out/run.$label.json"
}

# files LABEL COUNT SIZE DISK_SIZE: a fresh disk with one data set, timed from now on
files() {
  start none --size "$4" --fs ext4 --mount "$mount"
  "$BLKSWEEP" --quiet dataset make "$mount" --count "$2" --size "$3" >/dev/null
  "$BLKSWEEP" --quiet catalog "$mount" -o "$out/$1.cat" >/dev/null
  disk set "$name" --model hdd-7200
}

for size in 2GiB 8GiB; do
  echo "   $small files of 4 KiB on ext4, $size"
  files "small_$size" "$small" 4KiB "$size"
  run "small_$size.random" "$out/small_$size.cat" --order random
  run "small_$size.lba" "$out/small_$size.cat" --order lba --merge none,kernel,device --repeats 3
  disk stop "$name"
done
echo "   $large files of 110 KiB on ext4, 8GiB"
files large "$large" 110KiB 8GiB
find "$mount" -type f -exec filefrag -v {} + >"$out/large.where"
run large.random "$out/large.cat" --order random
run large.windows "$out/large.cat" --order random --sort-window 2%,10%,25%,100%
run large.lba "$out/large.cat" --order lba --merge none,device --repeats 3

/usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/disk_bench.py" "$out"
