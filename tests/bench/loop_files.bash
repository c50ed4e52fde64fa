# Sourced by benchmarks: files of 4 KiB on an ext4 of their own, below $loopfs_mount/data.
# shellcheck source=scripts/loopfs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/loopfs.sh"
trap loopfs_remove EXIT

# loop_files COUNT: ends the benchmark where there can be no loop device
loop_files() {
  loopfs_make "$BENCH_DIR/image" "$BENCH_DIR/mount" $(($1 * 11 / 2048 + 200))M ext4 -N $(($1 + $1 / 10)) ||
    { echo "   skipped: $loopfs_reason"; exit 0; }
  "$BLKSWEEP" --quiet dataset make "$loopfs_mount/data" --count "$1" --size 4KiB
}
