#!/usr/bin/env bash
# The main job in small: 20,000 files, eight cells, three cold repeats, probe, fio twin, report.
#
#   scripts/demo.sh [OUT]        default build/demo; `make demo` calls this
#
# As root the files lie on an ext4 image behind a loop device, which gives the device level its
# meaning; else, or where loop devices are refused, in a plain folder.
#   BLKSWEEP       the program                           build/blksweep
#   DEMO_COUNT     files                                 20000
#   DEMO_SPEC      experiment                            scripts/experiments/demo.toml
#   DEMO_OPTIONS   more options of run, e.g. "--repeats 1"
#   TMPDIR         where the image goes                  OUT
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/loopfs.sh
. "$here/loopfs.sh"

blksweep=$(realpath "${BLKSWEEP:-build/blksweep}")
out=${1:-build/demo}
count=${DEMO_COUNT:-20000}
spec=${DEMO_SPEC:-$here/experiments/demo.toml}
read -r -a options <<<"${DEMO_OPTIONS:-}"
plain=

cleanup() {
  loopfs_remove
  if [ -n "$plain" ]; then
    rm -rf "$plain"
  fi
}

say() { printf 'demo: %s\n' "$*" >&2; }

# Sets `data` to a folder of the files' future home.
place() {
  local mount
  mount=$(mktemp -d "${TMPDIR:-$out}/blksweep-demo.XXXXXX")
  if loopfs_make "$mount.img" "$mount" 1100M ext4; then
    data=$loopfs_mount/data
    say "files go to an ext4 image behind $loopfs_device"
    return
  fi
  loopfs_remove
  rmdir "$mount" 2>/dev/null || true
  plain=$out/data
  data=$plain
  say "files go to $data ($loopfs_reason); expect fallbacks and warnings for what needs root"
}

# A run that is marked incomplete (status 3) is a result too; the report says how many it leaves out.
measure() {
  local status=0
  "$blksweep" run "$spec" --catalog "$out/data.cat" --db "$out/results.db" "${options[@]}" \
    >/dev/null || status=$?  # the report prints the same table
  if [ "$status" = 3 ]; then
    say 'some runs are marked incomplete; the report leaves them out and says so'
  elif [ "$status" != 0 ]; then
    exit "$status"
  fi
}

main() {
  local begin=$SECONDS
  mkdir -p "$out"
  out=$(realpath "$out")
  # Only this script's own results of the last time.
  rm -rf "$out/results.db" "$out/results.db-wal" "$out/results.db-shm" "$out/data.cat" \
    "$out/report.html" "$out/figures" "$out/data"
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  place
  "$blksweep" dataset make "$data" --count "$count" --size lognormal:24KiB
  "$blksweep" catalog "$data" -o "$out/data.cat"
  measure
  "$blksweep" report "$out/results.db" -o "$out"
  say "$((SECONDS - begin)) s; report: $out/report.html, figures: $out/figures, results: $out/results.db"
}

main
