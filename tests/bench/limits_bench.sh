#!/usr/bin/env bash
# How exactly the limits of `node exec` are met: read bandwidth by fio (direct and buffered, psync and
# io_uring) for runs of several lengths, and the page cache that a memory limit leaves.
# Buffered runs have a memory limit of 64 MiB beside the other one, so that they read from the device
# again and again. A loop device in front of a slow or busy disk may not reach the greater limit: the
# rate without a limit stands beside it.
# A measurement, never an assertion.   RATES="100MB/s 1000MB/s"   LENGTHS="500ms 1s 3s"   FILE_SIZE=1G
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
  "$BLKSWEEP" --quiet node exec --device "$BENCH_DEVICE" "$@" -- \
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
bandwidth
page_cache
