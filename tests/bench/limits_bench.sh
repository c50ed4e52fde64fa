#!/usr/bin/env bash
# How exactly limits are met: read bandwidth by fio in `node exec` (direct and buffered, psync and
# io_uring) for runs of several lengths; by `run` itself and its fio twin in the same cgroup; and the
# page cache that a memory limit leaves.
# Buffered runs have a memory limit of 64 MiB beside the other one, so that they read from the device
# again and again. A loop device in front of a slow or busy disk may not reach the greater limit: the
# rate without a limit stands beside it.
# A measurement, never an assertion.   RATES="100MB/s 1000MB/s"   LENGTHS="500ms 1s 3s"   FILE_SIZE=1G
# PARTS="bandwidth by_run page_cache"
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo 'SKIP: needs root for cgroups'; exit 77; }
command -v fio >/dev/null || { echo 'SKIP: needs fio'; exit 77; }
[ -n "${BENCH_DEVICE:-}" ] || { echo 'SKIP: needs a loop device'; exit 77; }

read -r -a rates <<<"${RATES:-100MB/s 1000MB/s}"
read -r -a lengths <<<"${LENGTHS:-500ms 1s 3s}"
file=$BENCH_DIR/file
out=$BENCH_OUT/limits.json
backing=/sys/block/${BENCH_DEVICE#/dev/}/loop/dio

# measure ENGINE DIRECT LENGTH EXEC_OPTION... : MB/s
measure() {
  local engine=$1 direct=$2 length=$3
  shift 3
  [ "$direct" = 1 ] || set -- --memory-limit 64MiB "$@"
  "$BLKSWEEP" --quiet cache drop --all >/dev/null
  "$BLKSWEEP" --quiet node exec --device "$BENCH_DEVICE" --scheduler none "$@" -- \
    fio --name=limit --filename="$file" --readonly --rw=read --bs=1M --ioengine="$engine" \
    --iodepth=8 --direct="$direct" --time_based --runtime="$length" \
    --output-format=json --output="$out" >"$out.said"
  /usr/bin/python3 -c 'import json, sys
print("%.1f" % (json.load(open(sys.argv[1]))["jobs"][0]["read"]["bw_bytes"] / 1e6))' "$out"
}

bandwidth() {
  local engine direct rate length got free
  for engine in psync io_uring; do
    for direct in 1 0; do
      free=$(measure "$engine" "$direct" 2s)
      for rate in "${rates[@]}"; do
        for length in "${lengths[@]}"; do
          got=$(measure "$engine" "$direct" "$length" --bandwidth-limit "$rate")
          printf '%-8s %-8s %9s %5s: %7s MB/s, %s of the limit (without: %s MB/s)\n' "$engine" \
            "$([ "$direct" = 1 ] && echo direct || echo buffered)" "$rate" "$length" "$got" \
            "$(awk -v g="$got" -v r="${rate%MB/s}" 'BEGIN { printf "%.3f", g / r }')" "$free"
        done
      done
    done
  done
}

# A run of 3 s and its fio twin under the same limit: MB/s that each got.
by_run() {
  local io rate epochs
  "$BLKSWEEP" --quiet dataset make "$BENCH_DIR/limited" --count 300 --size 1MiB >/dev/null
  "$BLKSWEEP" --quiet catalog "$BENCH_DIR/limited" -o "$BENCH_OUT/limited.cat" >/dev/null
  for rate in "${rates[@]}"; do
    epochs=$((${rate%MB/s} * 3 / 300))
    for io in direct buffered; do
      "$BLKSWEEP" --quiet run --catalog "$BENCH_OUT/limited.cat" "--$io" --depth 8 --cache cold \
        --scheduler none --epochs "$((epochs > 0 ? epochs : 1))" --bandwidth-limit "$rate" --memory-limit 64MiB \
        --fio-twin --no-probe --no-ceiling --repeats 3 --json >"$out"
      /usr/bin/python3 - "$out" "$io" "$rate" <<'PY'
import json, statistics, sys
runs = json.load(open(sys.argv[1]))["runs"]
limit = float(sys.argv[3].removesuffix("MB/s")) * 1e6
ours = [r["device_bytes"] * 1e9 / r["epoch_ns"] / limit for r in runs]
fio = [r["fio"]["bytes_per_s"] / limit for r in runs if r["fio"]]
cache = max(r["limit_use"]["cache_peak_bytes"] for r in runs) / 2**20
spread = lambda x: f"{statistics.median(x):.3f} [{min(x):.3f}, {max(x):.3f}]" if x else "none"
print(f"run {sys.argv[2]:8} {sys.argv[3]:>9}: {spread(ours)} of the limit, its fio twin {spread(fio)}, "
      f"page cache at most {cache:.1f} MiB of 64")
PY
    done
  done
}

page_cache() {
  local limit
  for limit in 32MiB 64MiB 256MiB; do
    "$BLKSWEEP" --quiet cache drop --all >/dev/null
    printf 'limit %s: ' "$limit"
    "$BLKSWEEP" node exec --memory-limit "$limit" -- cat "$file" 2>&1 >/dev/null | grep 'page cache'
  done
}

dd if=/dev/urandom of="$file" bs=1M count=$(($(numfmt --from=iec "${FILE_SIZE:-1G}") >> 20)) \
  conv=fsync status=none
[ ! -e "$backing" ] || echo "loop device with direct I/O of its own: $(cat "$backing")"
for part in ${PARTS:-bandwidth by_run page_cache}; do
  "$part"
done
