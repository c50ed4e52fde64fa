#!/usr/bin/env bash
# Ours against PyTorch's DataLoader on the same cold files in one session, interleaved; the DataLoader with the
# number of workers that is best on these files, found by a sweep before. A measurement, never an assertion.
#   REPEATS=5   WORKERS=1,2,4,8,16,32   DATA='50000:4KiB 6000:110KiB'   PEERS='' (more of them: tar memmap zarr:sample)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repeats=${REPEATS:-5}
/usr/bin/python3 -c 'import torch, xxhash' 2>/dev/null || { echo '   needs python3-torch and python3-xxhash'; exit 77; }
[ -n "$BENCH_DEVICE" ] || { echo '   needs root for cold files on a loop device'; exit 77; }

spec=$BENCH_DIR/spec.toml
cat >"$spec" <<'TOML'
depth = 128
cache = "cold"
[[cell]]
order = "lba"
merge = "device"
[[cell]]
order = "chunked"
merge = "device"
shuffle = "reservoir"
window = "10%"
[[cell]]
order = "random"
TOML

run() { # OPTION... : JSON
  "$BLKSWEEP" --quiet run --catalog "$BENCH_DIR/data.cat" --no-ceiling --no-probe --json "$@"
}

best_workers() {
  run --order lba --merge device --cache cold --peer torch --peer-workers "${WORKERS:-1,2,4,8,16,32}" --repeats 2 |
    "$here/peer_bench.py" best
}

for set in ${DATA:-50000:4KiB 6000:110KiB}; do
  rm -rf "$BENCH_DIR/data" "$BENCH_DIR/forms"
  "$BLKSWEEP" --quiet dataset make "$BENCH_DIR/data" --count "${set%:*}" --size "${set#*:}" >/dev/null
  "$BLKSWEEP" --quiet catalog "$BENCH_DIR/data" -o "$BENCH_DIR/data.cat" >/dev/null
  echo "   ${set%:*} files of ${set#*:}, cold"
  workers=$(best_workers)
  peers=torch${PEERS:+,${PEERS// /,}}
  run "$spec" --peer "$peers" --peer-workers "$workers" --peer-data "$BENCH_DIR/forms" --repeats "$repeats" |
    "$here/peer_bench.py" compare
done
