#!/usr/bin/env bash
# Does a replay predict? An epoch of a PyTorch DataLoader is recorded on a fast disk, replayed
# `dependent` on slower ones, and run there for real: REPEATS of each, interleaved.
#
#   REPEATS=3 FILES=400 WORKERS=4 MODELS='hdd-7200 remote'
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for emulated disks'
"$python" -c 'import torch' 2>/dev/null || skip 'needs PyTorch'
files=${FILES:-400} workers=${WORKERS:-4} models=${MODELS:-hdd-7200 remote} repeats=${REPEATS:-3}
disks=()
stop_disks() {
  local disk
  for disk in "${disks[@]}"; do
    "$blksweep" -q disk stop "$disk" || true
  done
}
at_exit stop_disks
disk() { # disk NAME MODEL: with the data set on it
  disks+=("$1-$$")
  mkdir -p "$tmp/$1"
  call disk start "$1-$$" --model "$2" --size 256MiB --fs ext4 --mount "$tmp/$1"
  expect_status 0
  call dataset make "$tmp/$1/data" --count "$files" --size lognormal:64KiB --seed 5
  expect_status 0
}
loader=$(dirname "$0")/../../traces/programs/dataloader.py
disk fast none
for model in $models; do
  disk "$model" "$model"
done
# epoch DISK TRACE: a recorded one, with cold pages
epoch() {
  call cache drop --pages
  call trace record --files --data "$tmp/$1/data" -o "$2" -- "$python" "$loader" "$tmp/$1/data" "$workers"
  expect_status 0
}
span() { # of the reads of a trace, seconds
  call trace export "$1" --format csv -o "$tmp/.csv"
  awk -F, 'NR > 1 && $1 + $6 > end { end = $1 + $6 } END { printf "%.3f", end / 1e9 }' "$tmp/.csv"
  rm "$tmp/.csv"
}
epoch fast "$tmp/fast.trace"
echo "recorded on the fast disk: $(span "$tmp/fast.trace") s"
for model in $models; do
  for ((repeat = 0; repeat < repeats; repeat++)); do
    call replay "$tmp/fast.trace" --data "$tmp/$model/data" --timing dependent --buffered --json
    "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))["runs"][0]
c = r["certificate"]
print(r["epoch_ns"] / 1e9, c["verdict"], *c["reasons"])' "$tmp/.out" >>"$tmp/$model.replayed"
    epoch "$model" "$tmp/$model-$repeat.trace"
    span "$tmp/$model-$repeat.trace" >>"$tmp/$model.real"
    echo >>"$tmp/$model.real"
  done
  "$python" - "$model" "$tmp/$model.replayed" "$tmp/$model.real" <<'PY'
import statistics, sys
model, replayed, real = sys.argv[1:]
verdicts = [line.rstrip().split(" ", 1)[1] for line in open(replayed)]
replayed = [float(line.split()[0]) for line in open(replayed)]
real = [float(line) for line in open(real) if line.strip()]
ratio = statistics.median(replayed) / statistics.median(real)
print(f"{model}: replayed {statistics.median(replayed):.2f} s ({', '.join(sorted(set(verdicts)))}), "
      f"real {statistics.median(real):.2f} s, ratio {ratio:.3f}")
sys.exit(0 if 0.9 <= ratio <= 1.1 else 1)
PY
done
