#!/usr/bin/env bash
# The steps by which a training loop's input is tuned, one setting changed at a time: one database, one
# table (stdout) and one figure. docs/loading-strategies.md says what each step means.
#
#   scripts/experiments/loading-strategies.sh SRC WORK RESULTS.db
#
#   SRC         folder of files (arrays of float32, so that fp16 means something); made when missing
#   WORK        empty or new folder on the device that is measured; variants are made there and kept
#   RESULTS.db  results; a run that was cut off goes on there; the report goes to RESULTS.report/
#
#   BLKSWEEP=build/blksweep         the program
#   SIZE=1536MiB ARRAY=602112       of a SRC that is made (float_arrays.py)
#   LIMITS=none,1000MB/s            of reads; other than none needs root and a cgroup
#   REPEATS=3 EPOCHS=1              repeat by repeat all steps are run; passes over the data in a run
#   BATCH=32 COMPUTE=8ms WINDOW=256MiB
#   COPY='--copy emulated --copy-bandwidth 12GB/s'   (PCIe 3.0 x16), '--copy host', '--copy cuda'
#   CODECS='zstd lz4 blosc' THREADS (decoding; half of the CPUs)
#
# exit: as blksweep run and report; 3 when a step is incomplete.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/experiments/await.bash
. "$here/await.bash"
src=$1
work=$2
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
python=${PYTHON:-/usr/bin/python3}
repeats=${REPEATS:-3}
threads=${THREADS:-$((($(nproc) + 1) / 2))}
read -r -a copy <<<"${COPY:---copy emulated --copy-bandwidth 12GB/s}"
read -r -a codecs <<<"${CODECS:-zstd lz4 blosc}"
common=(--cache cold --batch "${BATCH:-32}" --compute "${COMPUTE:-8ms}" --window "${WINDOW:-256MiB}"
  --epochs "${EPOCHS:-1}" --bandwidth-limit "${LIMITS:-none,1000MB/s}" --seed 1 --no-ceiling --no-probe
  "${copy[@]}" --db "$db")
status=0

cleanup() {
  end_child
  rm -rf "$src.part"
}
trap cleanup EXIT

# variant NAME OPTION... : packs it unless it is there.
variant() {
  [ -e "$work/$1/.blksweep-pack/manifest.json" ] ||
    await "$blksweep" dataset pack "$src" -o "$work/$1" --threads "$(nproc)" "${@:2}" >&2
}

# step LABEL VARIANT OPTION... : remembered; its number is its place.
names=()
variants=()
settings=()
step() {
  names+=("$1")
  variants+=("$2")
  settings+=("${*:3}")
}

# run_step NUMBER REPEAT : incomplete runs are kept and reported, and do not end the rest. Repeats that
# the database has are not run again.
run_step() {
  local code=0
  local -a options
  read -r -a options <<<"${settings[$1]}"
  await "$blksweep" run --data "$work/${variants[$1]}" --disk-label "$(($1 + 1)) ${names[$1]}" \
    --repeats "$2" "${common[@]}" "${options[@]}" >&2 || code=$?
  case $code in
    0) ;;
    3) status=3 ;;
    *) exit "$code" ;;
  esac
}

[ -e "$src" ] || await "$python" "$here/float_arrays.py" "$src" "${SIZE:-1536MiB}" "${ARRAY:-602112}"
mkdir -p "$work"
variant files --layout files
variant packed
variant fp16 --dtype fp16
for codec in "${codecs[@]}"; do
  variant "fp16-$codec" --dtype fp16 --compress "$codec"
done

shards='--order chunked --merge file'
step 'file per sample' files --order random --prefetch 0 --device-slots 1 --staging per-batch
step 'packed shards' packed "$shards" --prefetch 0 --device-slots 1 --staging per-batch
step 'reading ahead' packed "$shards" --prefetch 2 --device-slots 1 --staging per-batch
# Where there is no link, nothing is staged in front of it.
[[ " ${copy[*]} " == *" host "* ]] ||
  step 'buffers reused' packed "$shards" --prefetch 2 --device-slots 1 --staging pageable
step 'pinned ring' packed "$shards" --prefetch 2 --device-slots 1 --staging pinned
step 'overlapped copy' packed "$shards" --prefetch 2 --device-slots 2 --staging pinned
step 'fp16' fp16 "$shards" --prefetch 2 --device-slots 2 --staging pinned
for codec in "${codecs[@]}"; do
  step "fp16 $codec" "fp16-$codec" "$shards" --prefetch 2 --device-slots 2 --staging pinned \
    --decode-threads "$threads"
done

for ((repeat = 1; repeat <= repeats; repeat++)); do
  for number in "${!names[@]}"; do
    run_step "$number" "$repeat"
  done
done
# The page with the lanes of every step takes longer: blksweep report RESULTS.db --experiment all -o DIR
out=${db%.db}.report
await "$blksweep" report "$db" --experiment all --no-figures -o "$out" >&2 || status=$?
if "$python" -c 'import matplotlib' 2>/dev/null; then
  await "$python" "$here/../figures/strategies.py" "$db" --cells "$out/cells.csv" \
    -o "$out/figures/strategies" || status=$?
else
  echo 'loading-strategies: no figure: it needs python3-matplotlib' >&2
fi
await "$python" "$here/../figures/strategies_table.py" "$db"
exit "$status"
