#!/usr/bin/env bash
# The same samples stored in different ways on one disk: what a form saves of I/O and costs of CPU time.
#
#   scripts/experiments/packing.sh SRC WORK RESULTS.db
#
#   SRC         folder of arrays of float32, made when missing (float_arrays.py)
#   WORK        where the disk's image is made
#   RESULTS.db  results; what was cut off goes on there
#
#   BLKSWEEP=build/blksweep  SIZE=96MiB ARRAY=602112  DISK=1300MiB MODEL=sata-ssd  REPEATS=5
#
# exit: as blksweep run.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
src=$1
work=$2
db=$3
size=${SIZE:-96MiB}
array=${ARRAY:-602112}

mkdir -p "$(dirname "$src")" "$work"
[ -e "$src" ] || "${PYTHON:-/usr/bin/python3}" "$here/float_arrays.py" "$src" "$size" "$array"
spec=$work/packing.toml

# form NAME OPTIONS-OF-PACK
form() {
  printf '[[data]]\nname = "%s"\non = ["ssd"]\npack = { of = "arrays", %s }\n' "$1" "$2"
}
{
  cat <<EOF
cache = "cold"
direct = true
repeats = ${REPEATS:-5}
probe = false
ceiling = false
check = false
depth = 32
batch = 16
decode-threads = 1
[[disk]]
name = "ssd"
size = "${DISK:-1300MiB}"
model = "${MODEL:-sata-ssd}"
[[data]]
name = "arrays"
folder = "$(realpath "$src")"
EOF
  form files 'layout = "files"'
  form tar 'layout = "tar"'
  form tar-zstd 'layout = "tar", compress = "zstd"'
  form tar-lz4 'layout = "tar", compress = "lz4"'
  form tar-blosc 'layout = "tar", compress = "blosc"'
  form tar-fp16 'layout = "tar", dtype = "fp16"'
  form tar-fp16-zstd 'layout = "tar", dtype = "fp16", compress = "zstd"'
  form tar-fp16-lz4 'layout = "tar", dtype = "fp16", compress = "lz4"'
  printf '[matrix]\norder = ["random", "lba"]\nexclude = [{ data = "arrays" }]\n'
} >"$spec"
exec "${BLKSWEEP:-build/blksweep}" run "$spec" --db "$db" --workdir "$work/disks"
