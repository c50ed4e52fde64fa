#!/usr/bin/env bash
# PyTorch's DataLoader and our package in the same loop with the same decoder: the bytes of JPEG files alone, and their
# pixels; small and large files, cold and warm, on a fast disk and on an emulated rotating one. First each loader's
# workers are swept, then the best of them are measured in rounds.
#
#   scripts/experiments/dataloader.sh DATA WORK RESULTS.db
#
#   DATA        folder of JPEG files, made when missing (jpeg_files.py)
#   WORK        where the disks are mounted; nothing stays there
#   RESULTS.db  results; what was cut off begins anew, because the disks are made anew
#
#   BLKSWEEP=build/blksweep  REPEATS=3 SWEEP=1 (repeats of the sweep)  BATCH=16
#   SMALL=3000 LARGE=400 (files on the fast disk)  HDD_SMALL=500 HDD_LARGE=160 (on the rotating one, the first of them)
#   WORKERS=2,4 HDD_WORKERS=4,16 (of DataLoader)  THREADS=1,2 (that decode for the package)
#   OURS=chunked:device:16MiB OURS_WARM=chunked:file:16MiB:buffered (order, merging and window of the package)
#   FAST=256MiB HDD=600MiB (sizes of the disks)  FAST_ON=/dev/shm (where the fast one's image is: in memory)
#
# exit: as blksweep run; 77 what it needs is not here.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/experiments/await.bash
. "$here/await.bash"
# shellcheck source=scripts/loopfs.sh
. "$here/../loopfs.sh"
data=$1
work=$2
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
python=${PYTHON:-/usr/bin/python3}
disk=dataloader-$$
ours=${OURS:-chunked:device:16MiB}
warm=${OURS_WARM:-chunked:file:16MiB:buffered}
status=0

cleanup() {
  end_child
  [ ! -d "/run/blksweep/disks/$disk" ] || "$blksweep" disk stop "$disk" --force >&2 || true
  rmdir "$work/hdd" 2>/dev/null || true
  loopfs_remove
}
trap cleanup EXIT

needs() {
  echo "dataloader: $1" >&2
  exit 77
}

# put FOLDER SIZE COUNT [APART] : the first files of a size, to a disk; so many bytes from each other, as some of a data
# set that fills it: else a rotating disk would answer from its own cache
put() {
  mkdir "$1/$2"
  "$python" - "$data/$2" "$1/$2" "$3" "${4:-0}" <<'PY'
import os, pathlib, sys
names, apart, sizes = sorted(os.listdir(sys.argv[1]))[:int(sys.argv[3])], int(sys.argv[4]), {}
for name in names:
    content = pathlib.Path(sys.argv[1], name).read_bytes()
    with open(os.path.join(sys.argv[2], name), "wb") as file:
        if apart:
            os.posix_fallocate(file.fileno(), 0, apart)
        file.write(content)
    sizes[file.name] = len(content)
os.sync()
for path, size in sizes.items():
    os.truncate(path, size)  # what was between them stays free
PY
  sync -f "$1"
}

# cells CACHE PEER WORKERS [PEER WORKERS]... : beside each other
cells() {
  local cache=$1
  shift
  while [ $# -gt 0 ]; do
    printf '[[cell]]\ncache = "%s"\npeer = "%s"\npeer-workers = [%s]\n' "$cache" "$1" "$2"
    [ "$cache" = cold ] || echo 'pin-pages = "100%"'  # whoever else drops caches
    shift 2
  done
}

# run SPEC FOLDER LABEL OPTION... : incomplete runs are kept and reported, and do not end the rest.
run() {
  local code=0
  await "$blksweep" run "$1" --data "$2" --disk-label "$3" "${@:4}" || code=$?
  case $code in
    0) ;;
    3) status=3 ;;
    *) exit "$code" ;;
  esac
}

# best SWEEP.json PEER : the number of workers with the best median
best() {
  "$python" - "$1" "$2" <<'PY'
import collections, json, statistics, sys
rates = collections.defaultdict(list)
for run in json.load(open(sys.argv[1]))["runs"]:
    if run["cell"]["peer"] == sys.argv[2] and run["samples_per_s"]:  # a choice may rest on what no figure may
        rates[run["cell"]["peer-workers"]].append(run["samples_per_s"])
if not rates:
    sys.exit(f"dataloader: no run of {sys.argv[2]} has delivered anything")
print(max(rates, key=lambda workers: statistics.median(rates[workers])))
PY
}

# site FOLDER LABEL WORKERS [warm] : the sweep is of cold data, because that is what many workers are for. The bytes alone
# need no thread of the package beside its reader
site() {
  local sweep=$work/sweep.json spec=$work/dataloader.toml raw jpeg threads
  local head="batch = ${BATCH:-16}\npeer-prefetch = 2\nprobe = false\nceiling = false\n"
  {
    printf '%b' "$head"
    cells cold torch:raw "$3" torch:jpeg "$3" "blksweep:$ours:jpeg" "${THREADS:-1,2}"
  } >"$spec"
  run "$spec" "$1" "$2" --repeats "${SWEEP:-1}" --json --no-check >"$sweep"
  raw=$(best "$sweep" torch:raw)
  jpeg=$(best "$sweep" torch:jpeg)
  threads=$(best "$sweep" "blksweep:$ours:jpeg")
  {
    printf '%b' "$head"
    cells cold torch:raw "$raw" torch:jpeg "$jpeg" "blksweep:$ours:raw" 1 "blksweep:$ours:jpeg" "$threads"
    [ -z "${4:-}" ] ||
      cells warm torch:raw "$raw" torch:jpeg "$jpeg" "blksweep:$warm:raw" 1 "blksweep:$warm:jpeg" "$threads"
  } >"$spec"
  run "$spec" "$1" "$2" --repeats "${REPEATS:-3}" --db "$db" >&2
}

[ "$(id -u)" = 0 ] || needs 'root is needed for its disks'
"$python" -c 'import numpy, PIL, torch, xxhash' 2>/dev/null || needs 'python3-torch, python3-pil, python3-numpy and python3-xxhash are needed'
mkdir -p "$work"
rm -f "$db"
count=${SMALL:-3000}
await "$python" "$here/jpeg_files.py" "$data" "$count" 4KiB
await "$python" "$here/jpeg_files.py" "$data" "${LARGE:-400}" 110KiB

loopfs_make "${FAST_ON:-/dev/shm}/$disk.image" "$work/fast" "${FAST:-256MiB}" ext4 || needs "$loopfs_reason"
put "$work/fast" 4KiB "$count"
put "$work/fast" 110KiB "${LARGE:-400}"
for size in 4KiB 110KiB; do
  site "$work/fast/$size" "fast, $size" "${WORKERS:-2,4}" warm
done
loopfs_remove

mkdir -p "$work/hdd"
await "$blksweep" disk start "$disk" --model none --size "${HDD:-600MiB}" --fs ext4 --mount "$work/hdd" >&2
put "$work/hdd" 4KiB "${HDD_SMALL:-500}" $((1 << 19))
put "$work/hdd" 110KiB "${HDD_LARGE:-160}" $((1 << 20))
"$blksweep" disk set "$disk" --model hdd-7200 >&2
for size in 4KiB 110KiB; do
  site "$work/hdd/$size" "hdd, $size" "${HDD_WORKERS:-4,16}"
done
exit "$status"
