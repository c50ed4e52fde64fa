#!/usr/bin/env bash
# Everything that is measured on a GPU, in one go and under 8 minutes; the table comes last.
#   BLKSWEEP=build/blksweep scripts/bench-gpu.sh BENCH_DIR     of a build
#   scripts/bench-gpu.sh                                       of a bundle, wherever it is called from
# Without a GPU, or without CUDA in the build, it says why and measures nothing (exit 0).
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
blksweep=${BLKSWEEP:-build/blksweep}
bench=${1:-}/gpu_bench_cuda
if [ $# = 0 ]; then
  blksweep=$here/../blksweep
  bench=$here/../gpu-bench
fi
if [ ! -x "$bench" ]; then
  echo "SKIP: no GPU: built without CUDA (make CUDA=1, with nvcc)"
  exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

status=0
timeout 240 "$bench" >"$tmp/table" 2>"$tmp/errors" || status=$?
if [ "$status" = 77 ]; then
  echo "SKIP: no GPU: $(cat "$tmp/errors")"
  exit 0
fi
cat "$tmp/errors" >&2

# One run each: a data set in memory, so that copy and compute are what there is to wait for.
"$blksweep" dataset make "$tmp/data" --count 2000 --size 128KiB --seed 1 >/dev/null
for staging in pinned pageable register per-batch; do
  timeout 60 "$blksweep" run --data "$tmp/data" --buffered --cache warm --batch 64 --window 256MiB \
    --copy cuda --staging "$staging" --consumer cuda --compute 4ms --epochs 4 --no-probe \
    --no-ceiling --db "$tmp/results.db" --json >/dev/null || status=1
done
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$blksweep" run --data "$tmp/data" \
      --buffered --copy cuda --consumer cuda --compute 1ms --verify --no-probe --no-ceiling \
      --db "$tmp/sanitizer.db" >"$tmp/$tool" 2>&1 && clean=clean || clean=ERRORS
    printf '%-44s %14s\n' "compute-sanitizer $tool" "$clean" >>"$tmp/table"
  done
else
  printf '%-44s %14s\n' "compute-sanitizer" "not installed" >>"$tmp/table"
fi
cat "$tmp/table"
# Without Python the account's own table, whose column "copy shown" is the same share.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
if "$python" -c 'import sqlite3' 2>/dev/null; then
  "$python" "$here/exposed_copy.py" "$tmp/results.db"
else
  echo 'no python3 with sqlite3 here: the shares of exposed copying are "copy shown" of blksweep report'
  "$blksweep" report "$tmp/results.db" --experiment all
fi
exit "$status"
