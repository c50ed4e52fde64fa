#!/usr/bin/env bash
# The steps of tuning a training loop's input, one by one, into one database and one figure.
#
#   scripts/experiments/loading-strategies.sh SRC WORK RESULTS.db
#
#   SRC         folder of files (arrays of float32, so that fp16 means something)
#   WORK        empty or new folder on the device that is measured; variants are made there and kept
#   RESULTS.db  results; the report goes to RESULTS.report/
#
# Environment: BLKSWEEP (program), REPEATS=3, LIMITS=none,1000MB/s (needs root and a cgroup), BATCH=64,
# COMPUTE=10ms, COPY='--copy emulated', THREADS (decoding; half of the CPUs), CODECS='zstd lz4 blosc'.
# exit: as blksweep run and report.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
src=$1
work=$2
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
repeats=${REPEATS:-3}
limits=${LIMITS:-none,1000MB/s}
threads=${THREADS:-$((($(nproc) + 1) / 2))}
read -r -a copy <<<"${COPY:---copy emulated}"
read -r -a codecs <<<"${CODECS:-zstd lz4 blosc}"
common=(--cache cold --batch "${BATCH:-64}" --compute "${COMPUTE:-10ms}" --bandwidth-limit "$limits"
  --repeats "$repeats" --seed 1 --no-ceiling --no-probe "${copy[@]}" --db "$db")
number=0
status=0

# variant NAME OPTION... : packs it unless it is there.
variant() {
  [ -e "$work/$1/.blksweep-pack/manifest.json" ] ||
    "$blksweep" dataset pack "$src" -o "$work/$1" --threads "$(nproc)" "${@:2}" >&2
}

# step LABEL VARIANT OPTION... : incomplete runs are kept and reported, and do not end the rest.
step() {
  local code=0
  number=$((number + 1))
  "$blksweep" run --data "$work/$2" --disk-label "$number $1" "${common[@]}" "${@:3}" >&2 || code=$?
  case $code in
    0) ;;
    3) status=3 ;;
    *) exit "$code" ;;
  esac
}

mkdir -p "$work"
variant files --layout files
variant packed
variant fp16 --dtype fp16
for codec in "${codecs[@]}"; do
  variant "fp16-$codec" --dtype fp16 --compress "$codec"
done

shards=(--order chunked --merge file)
step 'files' files --order random --prefetch 0
step 'packed' packed "${shards[@]}" --prefetch 0
step 'overlap' packed "${shards[@]}" --prefetch 2
step 'fp16' fp16 "${shards[@]}" --prefetch 2
for codec in "${codecs[@]}"; do
  step "fp16 $codec" "fp16-$codec" "${shards[@]}" --prefetch 2 --decode-threads "$threads"
done
"$blksweep" report "$db" --experiment all -o "${db%.db}.report"
exit "$status"
