#!/usr/bin/env bash
# The main job in small: 8,000 files, eight cells, five cold rounds (the fewest that bear a verdict), probe,
# fio twin; then the same question on an emulated 7200 rpm disk with 500 files; then the reads that a
# DataLoader was recorded with, there, in its order and sorted; one report of all.
#
#   scripts/demo.sh [OUT]        default build/demo; `make demo` calls this
#
# As root the files lie on an ext4 image behind a loop device, which gives the device level its
# meaning; else, or where loop devices are refused, in a plain folder.
#   BLKSWEEP       the program                           build/blksweep
#   DEMO_COUNT     files                                 8000
#   DEMO_SPEC      experiment                            scripts/experiments/demo.toml
#   DEMO_HDD_COUNT files on the emulated disk; 0: none   500
#   DEMO_OPTIONS   more options of run, e.g. "--repeats 1"
#   TMPDIR         where the image goes                  OUT
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/loopfs.sh
. "$here/loopfs.sh"

blksweep=$(realpath "${BLKSWEEP:-build/blksweep}")
out=${1:-build/demo}
count=${DEMO_COUNT:-8000}
spec=${DEMO_SPEC:-$here/experiments/demo.toml}
hdd_count=${DEMO_HDD_COUNT:-500}
read -r -a options <<<"${DEMO_OPTIONS:-}"
plain=
image=
disk=
disk_mount=
queue=()  # what a run sets on a disk of our own, and stores: a loop device keeps what others set

cleanup() {
  loopfs_remove
  if [ -n "$image" ]; then
    rmdir "$image" || true
  fi
  if [ -n "$disk" ]; then
    "$blksweep" --quiet disk stop "$disk" || true
    rmdir "$disk_mount" || true
  fi
  if [ -n "$plain" ]; then
    rm -rf "$plain"
  fi
}

say() { printf 'demo: %s\n' "$*" >&2; }

# Sets `data` to a folder of the files' future home.
place() {
  image=$(mktemp -d "${TMPDIR:-$out}/blksweep-demo.XXXXXX")  # of this user alone: nobody plants a name in it
  if loopfs_make "$image/image" "$image/mount" 1100M ext4; then
    data=$loopfs_mount/data
    queue=(--scheduler none)
    say "files go to an ext4 image behind $loopfs_device"
    return
  fi
  loopfs_remove
  plain=$out/data
  data=$plain
  say "files go to $data ($loopfs_reason); expect fallbacks and warnings for what needs root"
}

# Sets `disk` unless it is refused here. The files are made at full speed; the timing of the disk begins
# with the measurement.
place_on_hdd() {
  local status=0
  disk_mount=$(mktemp -d "${TMPDIR:-$out}/blksweep-demo-hdd.XXXXXX")
  disk=demo-$$
  "$blksweep" disk start "$disk" --model none --size 2GiB --fs ext4 --mount "$disk_mount" \
    >/dev/null || status=$?
  if [ "$status" != 0 ]; then
    disk=
    rmdir "$disk_mount"
    [ "$status" = 77 ] || exit "$status"
    say 'without the emulated disk; the reason is above'
    return 0
  fi
  "$blksweep" dataset make "$disk_mount/data" --count "$hdd_count" --size lognormal:24KiB
  "$blksweep" catalog "$disk_mount/data" -o "$out/hdd.cat"
  "$blksweep" disk set "$disk" --model hdd-7200
}

# measure SPEC CATALOG [OPTION...]
# A run that is marked incomplete (status 3) is a result too; the report says how many it leaves out.
measure() {
  local status=0 spec=$1 catalog=$2
  shift 2
  "$blksweep" run "$spec" --catalog "$catalog" --db "$out/results.db" "${queue[@]}" "$@" "${options[@]}" \
    >/dev/null || status=$?  # the report prints the same table
  if [ "$status" = 3 ]; then
    say 'some runs are marked incomplete; the report leaves them out and says so'
  elif [ "$status" != 0 ]; then
    exit "$status"
  fi
}

# What a DataLoader read, on files like its own on the emulated disk: as recorded, and sorted.
measure_trace() {
  local trace=$here/../traces/dataloader-shuffled.trace
  "$blksweep" disk set "$disk" --model none
  "$blksweep" dataset make "$disk_mount/trace" --like "$trace"
  "$blksweep" --quiet catalog "$disk_mount/trace" --trace "$trace" -o "$out/trace.cat"
  "$blksweep" disk set "$disk" --model hdd-7200
  measure "$here/experiments/demo-trace.toml" "$out/trace.cat" --model hdd-7200 \
    --disk-label "hdd-7200 (emulated), DataLoader's reads"
}

main() {
  local begin=$SECONDS
  mkdir -p "$out"
  out=$(realpath "$out")
  # Only this script's own results of the last time.
  rm -rf "$out/results.db" "$out/results.db-wal" "$out/results.db-shm" "$out/data.cat" \
    "$out/hdd.cat" "$out/trace.cat" "$out/report.html" "$out/figures" "$out/data"
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  place
  "$blksweep" dataset make "$data" --count "$count" --size lognormal:24KiB
  "$blksweep" catalog "$data" -o "$out/data.cat"
  measure "$spec" "$out/data.cat"
  if [ "$hdd_count" != 0 ]; then
    place_on_hdd
  fi
  if [ -n "$disk" ]; then
    measure "$here/experiments/demo-hdd.toml" "$out/hdd.cat" --model hdd-7200
    measure_trace
  fi
  "$blksweep" report "$out/results.db" -o "$out" --experiment all
  say "$((SECONDS - begin)) s; report: $out/report.html, figures: $out/figures, results: $out/results.db"
}

main
