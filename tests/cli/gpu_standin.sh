#!/usr/bin/env bash
# The program as it is, on the stand-in for a GPU: batches arrive, what the driver cannot do is refused or
# costs one run, and what a failed GPU leaves is said. The stand-in ends a program that misuses it.
#
# Side by side: no time is judged.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

build=$(dirname "$blksweep")
[ -e "$build/standin/libcuda.so.1" ] || skip 'no GPU, nor a stand-in for one (make CUDA=1 test-programs)'
export LD_LIBRARY_PATH=$build/standin
query() { "$python" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())' "$@"; }

data=$tmp/data
mkdir "$data"
for i in $(seq -w 48); do
  head -c 70000 /dev/urandom >"$data/$i"
done
gpu=(run --data "$data" --engine psync --buffered --batch 8 --copy cuda --consumer cuda --compute 1ms
  --no-probe --no-ceiling)

call "${gpu[@]}" --db "$tmp/a.db" --verify --copy-streams 2 --json
expect_status 0
[ "$(query "$tmp/a.db" 'SELECT count(*), sum(incomplete) FROM run')" = '1 0' ] || die 'a run on the stand-in is not whole'
[[ $(query "$tmp/a.db" 'SELECT engine_features FROM run') == *'cuMemcpyBatchAsync'* ]] || die 'how it copied is not stored'

# Which GPU it was, a MIG instance of it, and what is known without NVML. Of a sample the memory in use, lowest byte first,
# and whether its utilisation is unknown.
where="SELECT uuid, pci, hex(substr(data, 17, 8)), hex(substr(data, 9, 4)) = 'FFFFFFFF' FROM accelerator JOIN series USING (run_id)
  WHERE kind = 'gpu'"
uuid=00000000-0000-0000-0000-00000000000
seen=$(query "$tmp/a.db" "$where")
[ "$seen" = "GPU-${uuid}1 0000:65:00.0 00CA9A3B00000000 0" ] || die "the GPU is stored as $seen"
STANDIN_GPU=mig=1 call "${gpu[@]}" --db "$tmp/mig.db" --epochs 1
expect_status 0
seen=$(query "$tmp/mig.db" "$where")
[ "$seen" = "MIG-${uuid}2 0000:65:00.0 0065CD1D00000000 1" ] || die "an instance is stored as $seen"
mkdir "$tmp/without-nvml"
ln -s "$(realpath "$build/standin/libcuda.so.1")" "$tmp/without-nvml/"
LD_LIBRARY_PATH=$tmp/without-nvml call "${gpu[@]}" --db "$tmp/without.db" --epochs 1
expect_status 0
seen=$(query "$tmp/without.db" 'SELECT uuid, pci FROM accelerator')
[ "$seen" = "${uuid}1 0000:65:00.0" ] || die "without NVML the GPU is stored as $seen"

export STANDIN_GPU=pageable=1
for staging in pageable register per-batch; do
  call "${gpu[@]}" --db "$tmp/$staging.db" --verify --staging "$staging" --consumer gemm
  expect_status 0
done

# refused SETTING TEXT: before anything is measured, one line, exit code 77
refused() {
  STANDIN_GPU=$1 call "${gpu[@]}" --db "$tmp/refused.db"
  expect_error 77 "$2"
}
refused driver=10020 'the driver is for CUDA 10.2, this program needs one for CUDA 11.0 or later'
refused devices=0 'the driver finds no GPU'
refused capability=61 'compute capability 6.1'

# A run that a passing error ends; one after which the GPU is lost.
export STANDIN_GPU=fail=cuEventSynchronize:30:999
call "${gpu[@]}" --db "$tmp/passing.db" --epochs 1 --repeats 2
expect_status 3
[ "$(query "$tmp/passing.db" 'SELECT count(*), sum(incomplete) FROM run')" = '2 1' ] || die 'more than one run was lost'
export STANDIN_GPU=fail=kernel:30:719
call "${gpu[@]}" --db "$tmp/lost.db" --repeats 3
expect_status 3
[ "$(grep -c 'only a new process' <<<"$out")" = 1 ] || die 'that the GPU is lost is not said once'
