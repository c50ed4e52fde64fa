#!/usr/bin/env bash
# Records the traces in traces/ anew, and writes the table of traces/README.md.
#
#   scripts/record-traces.sh [OUT]     default traces
#
# Needs root, fio, PyTorch, dask, zarr and numpy. Data lie on an emulated disk without delay; pages
# are cold, inodes warm.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
blksweep=$(realpath "${BLKSWEEP:-$here/build/blksweep}")
out=$(realpath "${1:-$here/traces}")
python=/usr/bin/python3
programs=$here/traces/programs
work=$(mktemp -d)
disk=traces-$$
cleanup() {
  cd /
  "$blksweep" --quiet disk stop "$disk" || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$work/disk"
"$blksweep" disk start "$disk" --model none --size 512MiB --fs ext4 --mount "$work/disk" >/dev/null
cd "$work/disk"
"$blksweep" dataset make images --count 1000 --size lognormal:24KiB >/dev/null
"$python" "$programs/tar_members.py" make images images.tar
"$python" "$programs/sqlite_scan.py" make table.db
"$python" "$programs/zarr_batches.py" make array.zarr
head -c 64M /dev/urandom >rows.bin

table=$work/table
# record NAME DATA COMMAND...
record() {
  local name=$1 data=$2
  shift 2
  "$blksweep" cache drop --pages >/dev/null
  rm -f "$out/$name.trace"
  "$blksweep" --quiet trace record --files --data "$data" -o "$out/$name.trace" -- "$@" >/dev/null 2>&1
  local reads
  reads=$("$blksweep" trace stat "$out/$name.trace" --json |
    "$python" -c 'import json, sys; print(json.load(sys.stdin)["requests"])')
  # shellcheck disable=SC2016 # Markdown
  printf '| `%s.trace` | `%s` | %s | `%s` |\n' "$name" "${*//"$programs/"/}" "$reads" \
    "$(sha256sum "$out/$name.trace" | cut -c1-64)" | sed "s|$python|python3|" >>"$table"
}
record dataloader-shuffled images "$python" "$programs/dataloader.py" images 4 shuffled
record dataloader-sequential images "$python" "$programs/dataloader.py" images 4 sequential
record dask-zarr array.zarr "$python" "$programs/zarr_batches.py" read array.zarr
record numpy-memmap . "$python" "$programs/memmap.py" rows.bin
record tar . "$python" "$programs/tar_members.py" read images.tar
record sqlite . "$python" "$programs/sqlite_scan.py" scan table.db
record fio-randread . fio --name=x --filename=rows.bin --rw=randread --bs=4k --io_size=16m \
  --size=64m --ioengine=io_uring --iodepth=8 --direct=1

"$python" - "$out/README.md" "$table" "$(uname -srm), $(nproc) CPUs" <<'PY'
import sys
readme, table, machine = sys.argv[1:]
text = open(readme).read()
head, tail = text.split("<!-- table -->\n")[0], text.split("<!-- end -->\n")[1]
rows = "| file | command | reads | SHA-256 |\n| --- | --- | --- | --- |\n" + open(table).read()
with open(readme, "w") as out:
    out.write(f"{head}<!-- table -->\n{rows}\nRecorded on {machine}.\n<!-- end -->\n{tail}")
PY
du -ch "$out"/*.trace | tail -1
