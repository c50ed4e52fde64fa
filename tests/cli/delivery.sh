#!/usr/bin/env bash
# Every sample is delivered once, with exactly the file's bytes, on ext4, xfs and btrfs, for files of
# every awkward kind, in every order, merge, shuffle and engine.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
at_exit loopfs_remove

bytes() { head -c "$1" /dev/urandom; }

odd_files() {
  local dir=$1 n i
  mkdir -p "$dir/a" "$dir/b" "$dir/c"
  for n in 0 1 511 4095 4096 4097 65537 3145728; do
    bytes "$n" >"$dir/a/size_$n"
  done
  # Interleaved appends with a flush between them leave each file in several extents.
  for i in 1 2 3 4 5 6; do
    for n in 1 2 3; do
      bytes $((65536 + n * 512)) >>"$dir/b/fragmented_$n"
      sync -f "$dir/b/fragmented_$n"
    done
  done
  truncate -s 1M "$dir/b/sparse_hole"
  bytes 5000 | dd of="$dir/b/sparse_hole" bs=4096 seek=17 conv=notrunc status=none
  truncate -s 300000 "$dir/b/all_hole"
  fallocate -l 200000 "$dir/b/fallocated"
  bytes 5000 | dd of="$dir/b/fallocated" bs=4096 seek=3 conv=notrunc status=none
  ln "$dir/a/size_65537" "$dir/c/hard_link"
  ln -s ../a/size_4097 "$dir/c/symbolic_link"
  for i in $(seq 40); do
    bytes $((i * 997)) >"$dir/c/small_$i"
  done
}

extras_ext4() { bytes 60 >"$1/c/inline"; }
extras_xfs() { cp --reflink=always "$1/a/size_3145728" "$1/c/reflinked"; }
extras_btrfs() {
  cp --reflink=always "$1/a/size_3145728" "$1/c/reflinked"
  mkdir "$1/z"
  chattr +c "$1/z"
  yes 'the same line over and over' | head -c 1000000 >"$1/z/compressed" || true
  bytes 100 >"$1/z/inline"
}

# sweep NAME CATALOG OPTION... : its answer is looked at with those of others, by `check`
sweep() {
  local name=$1 catalog=$2
  shift 2
  call run --catalog "$catalog" --verify --json --no-probe --batch 7 --window 8MiB "$@"
  expect_status 0
  mv "$tmp/.out" "$tmp/answers/$name"
}

# The runs of all answers since the last time are complete and right.
mkdir "$tmp/answers"
check() {
  /usr/bin/python3 - "$tmp/answers" <<'PY' || die 'not delivered as it should be'
import json, pathlib, sys
answers = sorted(pathlib.Path(sys.argv[1]).iterdir())
failed = not answers
for answer in answers:
    runs = json.loads(answer.read_text())["runs"]
    bad = [r for r in runs if r["wrong_samples"] != 0 or r["missing_samples"] != 0 or r["incomplete"]]
    for r in bad:
        print(answer.name, r["cell"], r["missing_samples"], r["wrong_samples"], r.get("incomplete_reason"), r["warnings"])
    print(answer.name, len(runs), "runs")
    failed = failed or bad or not runs
sys.exit(1 if failed else 0)
PY
  rm "$tmp"/answers/*
}

every_policy() {
  local name=$1 catalog=$2
  sweep "$name orders" "$catalog" --order random,path,directory,inode,lba,chunked \
    --merge none,file,kernel,device --chunk 256KiB
  sweep "$name sort window" "$catalog" --order random --sort-window 1MiB --merge device,kernel
  sweep "$name shuffles" "$catalog" --order lba --merge device --shuffle buffer,reservoir
  sweep "$name full" "$catalog" --order lba --merge device --shuffle full --window 100% --epochs 2
  sweep "$name engines" "$catalog" --engine "$direct_engines" --io direct,buffered --merge none
  sweep "$name engines, device" "$catalog" --engine "$direct_engines" --merge device
  sweep "$name page cache" "$catalog" --engine "$buffered_engines" --merge file
  sweep "$name buffered" "$catalog" --buffered --merge none,file,device
  sweep "$name small reads" "$catalog" --merge device,file --merge-max 16KiB --merge-gap 0 --depth 3
  sweep "$name by handle" "$catalog" --order random --merge none --open-by handle --openers 0,1
  sweep "$name copy" "$catalog" --merge device --copy none,host --compute 100us --prefetch 0,2
  check
}

filesystem() {
  local fs=$1
  shift
  loopfs_make "$tmp/$fs.img" "$tmp/$fs" 600M "$fs" "$@" || skip "$fs: $loopfs_reason"
  odd_files "$loopfs_mount/data"
  "extras_$fs" "$loopfs_mount/data"
  sync -f "$loopfs_mount"
  make_catalog "$loopfs_mount/data" "$tmp/$fs.cat"
  every_policy "$fs" "$tmp/$fs.cat"
  "$blksweep" --quiet dataset make "$loopfs_mount/tar" --count 200 --size lognormal:9KiB --format tar
  "$blksweep" --quiet catalog "$loopfs_mount/tar" -o "$tmp/$fs.cat"
  every_policy "$fs tar" "$tmp/$fs.cat"
  "$blksweep" --quiet dataset make "$loopfs_mount/rec" --count 999 --size 1000B --format records
  "$blksweep" --quiet catalog "$loopfs_mount/rec" --records 1000B -o "$tmp/$fs.cat"
  every_policy "$fs records" "$tmp/$fs.cat"
  loopfs_remove
}

# More files than may be open at once, read again and again: every read finds its own file.
few_descriptors() {
  loopfs_make "$tmp/few.img" "$tmp/few" 100M ext4 || skip "few descriptors: $loopfs_reason"
  "$blksweep" --quiet dataset make "$loopfs_mount/data" --count 300 --size lognormal:6KiB
  make_catalog "$loopfs_mount/data" "$tmp/few.cat"
  (
    ulimit -n 128
    sweep 'few descriptors' "$tmp/few.cat" --order random --epochs 10 --depth 8,30 \
      --engine "io_uring,$direct_engines" --merge none,kernel --openers 0,1
    sweep 'few descriptors, page cache' "$tmp/few.cat" --order random --epochs 5 --depth 8,30 \
      --engine "$buffered_engines" --merge none,kernel --openers 0,1
  )
  check
  loopfs_remove
}

direct_engines=$(engines direct | sed 's/\bio_uring \(.*\)/\1/; s/ /,/g')  # io_uring reads everywhere else
buffered_engines=$(engines buffered | tr ' ' ,)
few_descriptors
filesystem ext4 -O inline_data
filesystem ext4 -b 1024
filesystem xfs
filesystem xfs -b size=1024
filesystem btrfs
