#!/usr/bin/env bash
# Everything that is measured on a GPU, in one go; the table with its bars comes last.
#   BLKSWEEP=build/blksweep scripts/bench-gpu.sh BENCH_DIR     of a build
#   scripts/bench-gpu.sh                                       of a bundle, wherever it is called from
# Without a GPU, or without CUDA in the build, it says why and measures nothing (exit 0). A part that
# fails or takes too long is an ERROR in the table (exit 1); a figure below its bar is a FAIL there.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/gpu-parts.bash
. "$here/gpu-parts.bash"
gpu_deadline=270 # with those of test-gpu.sh under 8 minutes

# Sets blksweep, bench and python (empty: none that can read the results).
find_programs() {
  blksweep=${BLKSWEEP:-build/blksweep}
  bench=${1:-}/gpu_bench_cuda
  if [ $# = 0 ]; then
    blksweep=$here/../blksweep
    bench=$here/../gpu-bench
  fi
  for python in /usr/bin/python3 python3 ''; do
    [ -z "$python" ] || ! "$python" -c 'import sqlite3' 2>/dev/null || break
  done
}

find_programs "$@"
if [ ! -x "$bench" ]; then
  echo "SKIP: no GPU: built without CUDA (make CUDA=1, with nvcc)"
  exit 0
fi
tmp=$(mktemp -d)
table_due=
cleanup() {
  status=$?
  # Also after an interrupt: what was measured so far.
  [ -z "$table_due" ] || finish || true
  rm -rf "$tmp"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

status=0
node=$(timeout --kill-after=5 60 "$bench" node 2>"$tmp/errors") || status=$?
if [ "$status" = 77 ]; then
  echo "SKIP: no GPU: $(cat "$tmp/errors")"
  exit 0
fi
table_due=yes
gpu_table+=("$node")
[ "$status" = 0 ] || row_error "the GPU" "status $status: $(head -c 200 "$tmp/errors")"

part "copies" 60 "$bench" copies
# What contends with copies first; the spinning kernel is the best case.
for consumer in cuda-memory gemm cuda; do
  part "consumer $consumer" 40 "$bench" "$consumer"
done
# In a process of its own: what CUPTI records costs time.
part "check by CUPTI" 40 "$bench" cupti

# A data set in memory, so that copy and compute are what there is to wait for.
part "data set" 30 "${quietly[@]}" "$blksweep" dataset make "$tmp/data" --count 2000 --size 128KiB \
  --seed 1
common=(run --data "$tmp/data" --buffered --cache warm --batch 64 --window 256MiB --copy cuda
  --epochs 4 --repeats 3 --no-probe --no-ceiling --db "$tmp/results.db")
# 8 MiB take 0.2 to 0.6 ms: behind 4 ms a pageable copy hides, in front of 200 us no copy does.
part "epochs bound by computing, memory in use" 40 "${quietly[@]}" "$blksweep" "${common[@]}" \
  --consumer cuda-memory --compute 4ms --staging pinned,pageable,register,per-batch
part "epochs bound by computing, a product" 25 "${quietly[@]}" "$blksweep" "${common[@]}" \
  --consumer gemm --compute 4ms
part "epochs bound by computing, a spinning kernel" 25 "${quietly[@]}" "$blksweep" "${common[@]}" \
  --consumer cuda --compute 4ms
part "epochs bound by copying" 40 "${quietly[@]}" "$blksweep" "${common[@]}" \
  --consumer cuda-memory --compute 200us --staging pinned,pageable,register,per-batch
part "epochs with a blocking copy" 30 "${quietly[@]}" "$blksweep" "${common[@]}" \
  --consumer cuda-memory --compute 4ms --device-slots 1
if [ -n "$python" ]; then
  part "exposed copying" 20 "$python" "$here/exposed_copy.py" "$tmp/results.db"
else
  # The account's own table, whose column "copy shown" is the same share.
  part "exposed copying" 20 "$blksweep" report "$tmp/results.db" --experiment all
fi

table_due=
finish
