#!/usr/bin/env bash
# Beside the catalog a plan takes 64 bytes a sample at most, however many cells are planned: one is in memory at a time.
# Side by side: memory of its own processes is all that it looks at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

count=400000
"$blksweep" --quiet dataset make "$tmp/data" --format records --count "$count" --size 512B
"$blksweep" --quiet catalog "$tmp/data" --records 512B -o "$tmp/all.cat"
"$blksweep" --quiet catalog "$tmp/data" -o "$tmp/one.cat" # the file as one sample

# peak CATALOG OPTION...: bytes of memory at most, without the catalog's own
peak() {
  "$python" - "$blksweep" --quiet plan "$@" <<'PY'
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 - os.stat(sys.argv[4]).st_size)
PY
}
rest=$(peak "$tmp/one.cat" --merge none)
for cells in '--order lba --merge none' '--order random,lba,chunked,elevator --merge none,device' \
  '--order random,elevator --merge none --shuffle buffer,reservoir --window 10%' '--order lba --merge none --shuffle full --window 100%'; do
  # shellcheck disable=SC2086
  each=$((("$(peak "$tmp/all.cat" $cells)" - rest) / count))
  echo "$cells: $each bytes a sample"
  [ "$each" -le 64 ] || die "$cells: $each bytes a sample"
  [ "$each" -ge 40 ] || die "$cells: $each bytes a sample are too few: was there a plan?"
done
