#!/usr/bin/env bash
# The Python package against PyTorch's DataLoader in the same loop (the bytes of each batch summed), cold files and
# inodes, interleaved; from the loop's first line to its last. A measurement, never an assertion.   REPEATS=5   FILES=50000
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/loopfs.sh
. "$here/../../scripts/loopfs.sh"
trap loopfs_remove EXIT
loopfs_make "$BENCH_DIR/image" "$BENCH_DIR/mount" 900M ext4 -N 120000 || { echo "   skipped: $loopfs_reason"; exit 0; }
"$BLKSWEEP" --quiet dataset make "$loopfs_mount/data" --count "${FILES:-50000}" --size 4KiB
PYTHONPATH=$(dirname "$BLKSWEEP")/python /usr/bin/python3 -W ignore "$here/python_loop.py" "$loopfs_mount/data" "${REPEATS:-5}"
