#!/usr/bin/env bash
# What an order costs in accuracy: an image classifier trained in exactly the order that each run delivered from an emulated
# rotating disk whose files lie class by class (train_in_order.py), and once from one where they lie mixed.
#
#   scripts/experiments/accuracy.sh DATA WORK RESULTS.db
#
#   DATA        not used: blksweep makes the files, of the size of the images that their numbers stand for
#   WORK        where disks and emissions are kept until the end
#   RESULTS.db  results; accuracies go to RESULTS.accuracy.csv; what was cut off goes on in both
#
#   BLKSWEEP=build/blksweep  COUNT=4000 EPOCHS=5 REPEATS=5  CHUNK=512KiB  DISK=1300MiB SPEEDUP=4
#
# exit: as blksweep run; 1 when an emission is refused; 3 when a run is incomplete; 77 without PyTorch.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/experiments/await.bash
. "$here/await.bash"
work=$2
db=$3
python=${PYTHON:-/usr/bin/python3}
count=${COUNT:-4000}
status=0

"$python" -c 'import torch' 2>/dev/null || { echo 'accuracy: it needs python3-torch' >&2; exit 77; }

trap end_child EXIT

# site ARRANGED: a disk with files that lie so; its cells are stdin.
site() {
  mkdir -p "$work/$1"
  {
    cat <<EOF
cache = "cold"
direct = true
repeats = ${REPEATS:-5}
epochs = ${EPOCHS:-5}
batch = 32
depth = 32
merge = "device"
merge-horizon = 0
probe = false
ceiling = false
check = false
model = "hdd-7200"  # predicted, too
[[disk]]
name = "hdd"
size = "${DISK:-1300MiB}"
model = "hdd-7200"
speedup = ${SPEEDUP:-4}
[[data]]
name = "$1"
make = { count = $count, size = "12KiB", classes = 10, arrange = "$1" }
EOF
    cat
  } >"$work/$1.toml"
  local code=0
  await "${BLKSWEEP:-build/blksweep}" run "$work/$1.toml" --db "$db" --workdir "$work/$1" \
    --emission "$work/emissions/$1-%c-%r.npy" >&2 || code=$?
  case $code in
    0) ;;
    3) status=3 ;; # those that are complete are trained
    *) exit "$code" ;;
  esac
}

mkdir -p "$work/emissions"
site by-class <<EOF
[[cell]]
order = "random"
merge = "none"
[[cell]]
order = "lba"
[[cell]]
order = "lba"
shuffle = "full"
window = "100%"
[[cell]]
order = "lba"
shuffle = ["reservoir", "buffer"]
window = ["2%", "10%", "50%"]
[[cell]]
order = "chunked"
chunk = "${CHUNK:-512KiB}"
[[cell]]
order = "chunked"
chunk = "${CHUNK:-512KiB}"
shuffle = ["reservoir", "buffer"]
window = "10%"
# Blocks in random order, a buffer filled and emptied as a whole: CorgiPile's.
[[cell]]
order = "chunked"
chunk = "${CHUNK:-512KiB}"
shuffle = "buffer"
window = "10%"
drain = "100%"
# Near the head, and no sample stays longer than four windows (docs/orders.md).
[[cell]]
order = "elevator"
lookahead = "auto"
chunk = "${CHUNK:-512KiB}"
shuffle = "buffer"
window = "10%"
hold = 4
EOF
site mixed <<EOF
[[cell]]
order = "lba"
EOF
await "$python" "$here/train_in_order.py" "$db" "$work/emissions" "${db%.db}.accuracy.csv" --count "$count" >&2
exit "$status"
