#!/usr/bin/env bash
# Runs the benchmarks: tests/bench/*.sh and the programs built from tests/bench/*.cpp.
#
#   scripts/bench.sh PROGRAMS [NAME...]     PROGRAMS: folder of the built programs; NAME: only these
#
# Each gets BLKSWEEP, BENCH_DIR (an empty folder of its own: on an ext4 loop mount when root, else
# below TMPDIR), BENCH_DEVICE (its loop device, else empty) and BENCH_OUT (what stays). A benchmark
# prints what it measured and never judges it; status 77 is a skip, anything else but 0 a failure.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/loopfs.sh
. "$here/loopfs.sh"

programs=$1
shift
work=
failed=0

cleanup() {
  loopfs_remove
  if [ -n "$work" ]; then
    rm -rf "$work"
  fi
}

wanted() {
  local name=$1
  shift
  [ $# = 0 ] || [[ " $* " == *" $name "* ]]
}

place() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/blksweep-bench.XXXXXX")
  if loopfs_make "$work/image" "$work/mount" "${BENCH_SIZE:-1500M}" ext4; then
    BENCH_DIR=$work/mount/bench
    BENCH_DEVICE=$loopfs_device
  else
    echo "bench: plain folder ($loopfs_reason); figures are not comparable with those of a loop device" >&2
    loopfs_remove
    BENCH_DIR=$work/bench
    BENCH_DEVICE=
  fi
  export BENCH_DIR BENCH_DEVICE
}

bench() {
  local name=$1 status=0
  shift
  echo "-- $name"
  rm -rf "$BENCH_DIR"
  mkdir -p "$BENCH_DIR"
  "$@" || status=$?
  if [ "$status" = 77 ]; then
    echo "   skipped"
  elif [ "$status" != 0 ]; then
    echo "   FAILED with status $status"
    failed=1
  fi
}

main() {
  local path name
  BLKSWEEP=$(realpath "${BLKSWEEP:-build/blksweep}")
  BENCH_OUT=$(realpath "$programs")
  export BLKSWEEP BENCH_OUT
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  place
  for path in "$here"/../tests/bench/*.sh "$here"/../tests/bench/*.cpp; do
    [ -e "$path" ] || continue
    name=$(basename "${path%.*}")
    wanted "$name" "$@" || continue
    case $path in
      *.sh) bench "$name" bash "$path" ;;
      *) bench "$name" "$BENCH_OUT/$name" ;;
    esac
  done
  exit "$failed"
}

main "$@"
