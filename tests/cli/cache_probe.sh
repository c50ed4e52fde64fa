#!/usr/bin/env bash
# What --probe-cache says of a cold, a half warm, a warm, a read-ahead and a memory-limited run is what fincore(1), which
# asks mincore(2), says of the files before and after, and what the pattern of reads makes of it.
# Alone: another test that drops the machine's caches would be counted, too.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

command -v fincore >/dev/null || skip 'no fincore (util-linux-extra)'

# resident FOLDER : bytes of its files in the page cache, in whole pages
resident() {
  find "$1" -type f -print0 | xargs -0 fincore --bytes --noheadings --output res | awk '{ sum += $1 } END { print sum + 0 }'
}
# measured OPTION... : a run's row of the page cache, as $tmp/row.json; $began: what had been paged out when it began
measured() {
  began=$(paged_out)
  call run --no-ceiling --no-probe --probe-cache --buffered --json "$@"
  expect_status 0
  "$python" -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["runs"][0]["page_cache"]))' \
    "$tmp/.out" >"$tmp/row.json"
  grep -q hit_share "$tmp/row.json" || skip "no cache probe here: $(grep -o 'no cache probe[^"]*' "$tmp/.out")"
}
# holds EXPRESSION [NAME=VALUE...] : of the row's columns
holds() {
  "$python" - "$tmp/row.json" "$@" <<'PY' || die "$1"
import json, sys
row = json.load(open(sys.argv[1]))
known = dict(word.split("=") for word in sys.argv[3:])
row.update({k: int(v) for k, v in known.items()})
if not eval(sys.argv[2], {}, row):
    sys.exit(f"FAILED: {sys.argv[2]}: {row}")
PY
}

# row_says EXPRESSION : it is true of the row
row_says() { "$python" -c 'import json, sys; sys.exit(not eval(sys.argv[2], {}, json.load(open(sys.argv[1]))))' "$tmp/row.json" "$1"; }
# paged_out : what the kernel has taken back so far: file pages reclaimed, and bytes that DAMON found idle, which it alone counts
paged_out() {
  local damon=/sys/kernel/mm/damon/admin/kdamonds/0
  { echo update_schemes_stats >"$damon/state"; } 2>/dev/null || true # has them written to the files
  cat "$damon"/contexts/*/schemes/*/stats/sz_applied 2>/dev/null || true
  awk '$1 == "pgsteal_file" { print $2 }' /proc/vmstat
}
# measured_and_left FOLDER OPTION... : the same of a cold run, and as $after what of the folder is cached when it has ended: again,
# up to ten times, where the kernel paged something out meanwhile (DAMON does, what it takes for idle)
measured_and_left() {
  local folder=$1 before i
  shift
  for i in {1..10}; do
    before=$(paged_out)
    measured "$@"
    after=$(resident "$folder")
    [ "$(paged_out)" != "$before" ] || break
  done
}
# warm_holds EXPRESSION OPTION... : it holds of a run, but where the kernel paged something out meanwhile (DAMON does, what
# it takes for idle) of one of the next nine
warm_holds() {
  local expression=$1 before i
  shift
  for i in {1..10}; do
    before=$began # what went since the run before began is not there in this one
    measured "$@"
    if row_says "$expression" || [ "$(paged_out)" = "$before" ]; then
      break
    fi
  done
  holds "$expression"
}
# half_warm_holds EXPRESSION FOLDER OPTION... : it holds of a run that finds every other file of the folder cached, and so many
# bytes are; again, up to ten times, as above
half_warm_holds() {
  local expression=$1 folder=$2 before found all i
  shift 2
  all=$(find "$folder" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
  for i in {1..10}; do
    call cache drop
    before=$(paged_out)
    find "$folder" -type f | sort | awk 'NR % 2' | xargs cat >/dev/null
    found=$(resident "$folder")
    measured --cache keep "$@"
    if ((found * 2 == all)) && row_says "$expression" || [ "$(paged_out)" = "$before" ]; then
      break
    fi
  done
  holds "$expression and found == $all / 2" "found=$found"
}
# reads_ahead : this kernel tells of read-ahead
reads_ahead() { row_says 'readahead_windows is not None'; }
# drop_when_read BYTES : drops the caches once the run of small.cat has read so many
drop_when_read() {
  local pid read=0
  until pid=$(pgrep -f "run .*$tmp/small.cat"); do sleep 0.01; done
  while ((read < $1)); do
    read=$(awk '/^rchar/ { print $2 }' "/proc/$pid/io" 2>/dev/null) || return 1
    sleep 0.01
  done
  echo 3 >/proc/sys/vm/drop_caches
}

# dropped_in_between : of the warm files of small.cat: pages go and come back, names go, too; of 300 other files, which
# nobody has open, the inodes go. Again where a page stayed, which was just being read, or the kernel paged something out.
dropped_in_between() {
  local i try
  for try in {1..6}; do
    mkdir "$loopfs_mount/beside"
    for i in {1..300}; do
      echo "$i" >"$loopfs_mount/beside/$i"
    done
    sync -f "$loopfs_mount/beside"
    drop_when_read $((40 * 600 * 16384)) & # of 400 epochs: all files are open, all pages known
    measured --catalog "$tmp/small.cat" --engine psync --merge none --order random --cache keep --epochs 400
    wait $! || die 'the run was over before the caches were dropped'
    rm -r "$loopfs_mount/beside"
    row_says '590 * 16384 <= added_bytes < 600 * 16384' || [ "$(paged_out)" != "$began" ] || break
  done
  echo "dropped in between: $try times"
  holds 'evicted_bytes == again_bytes >= 600 * 16384 and inodes_loaded == 0'
  holds '300 <= inodes_evicted <= 310 and shrinker_freed >= 600 + 300 + inodes_evicted'
}

# --- two subvolumes, whose files have the same inode numbers -------------------------------------------------
if command -v mkfs.btrfs >/dev/null && command -v btrfs >/dev/null; then
  own_disk 320M btrfs
  mkdir "$loopfs_mount/data"
  for part in a b; do
    btrfs subvolume create "$loopfs_mount/data/$part" >/dev/null
    for i in {1..20}; do
      head -c 16384 /dev/urandom >"$loopfs_mount/data/$part/$i"
    done
  done
  make_catalog "$loopfs_mount/data" "$tmp/two.cat"
  call run --catalog "$tmp/two.cat" --no-ceiling --no-probe --probe-cache --buffered --cache keep --json
  expect_status 0
  expect 'of two subvolumes nothing is said' 'run["page_cache"] is None and any("inode number" in w for w in run["warnings"])'

  # --- and inodes of one that are given up --------------------------------------------------------------------
  call cache drop # the others' files: this probe cannot tell them apart
  call dataset make "$loopfs_mount/small" --count 600 --size 16KiB
  make_catalog "$loopfs_mount/small" "$tmp/small.cat"
  measured --catalog "$tmp/small.cat" --engine psync --merge none --order random --cache warm
  dropped_in_between
  loopfs_remove
fi

for fstype in ext4 xfs; do
  own_disk 320M "$fstype"
  data=$loopfs_mount/small
  call dataset make "$data" --count 600 --size 16KiB
  make_catalog "$data" "$tmp/small.cat"
  small=(--catalog "$tmp/small.cat" --engine psync --merge none --order random)
  all=$((600 * 16384))

  # --- cold: all of it is fetched, once ---------------------------------------------------------------
  measured_and_left "$data" "${small[@]}" --cache cold
  holds 'hit_share == 0 and wanted_bytes == all and unwanted_bytes == again_bytes == evicted_bytes == lost_events == 0' "all=$all"
  holds 'added_bytes == after' "after=$after"
  folders=$(find "$data" -type d | wc -l)
  holds 'files <= inodes_loaded <= files + folders + 2' files=600 "folders=$folders"
  holds 'files + folders <= dentries_loaded <= files + folders + 20' files=600 "folders=$folders"
  holds 'inodes_evicted == shrinker_freed == 0 and files == []'
  reads_ahead && holds 'readahead_sync == readahead_windows == 600 and readahead_async == 0 and readahead_bytes == all' "all=$all"

  # --- half warm: half of it is found -------------------------------------------------------------------
  half_warm_holds 'hit_share == 0.5 and added_bytes == wanted_bytes / 2' "$data" "${small[@]}"
  holds 'inodes_loaded <= 2' # who asks what is resident opens each file before the epoch

  # --- a second name of a file is no second file -----------------------------------------------------------
  one=$(find "$data" -type f -print -quit)
  ln "$one" "$one.again"
  make_catalog "$data" "$tmp/linked.cat"
  measured --catalog "$tmp/linked.cat" --engine psync --merge none --order random --cache cold
  holds 'hit_share == 0 and wanted_bytes == added_bytes == all' "all=$all"
  rm "$one.again"
  make_catalog "$data" "$tmp/small.cat" # a link is a change of its file
  warm_holds 'hit_share == 1' "${small[@]}" --cache warm

  # --- warm: nothing is fetched -----------------------------------------------------------------------
  warm_holds 'hit_share == 1 and added_bytes == evicted_bytes == inodes_loaded == 0' \
    "${small[@]}" --cache keep
  reads_ahead && holds 'readahead_sync == readahead_async == readahead_windows == readahead_bytes == 0'

  dropped_in_between

  # --- holes are not read: none of them was found -----------------------------------------------------------
  sparse=$loopfs_mount/sparse
  mkdir "$sparse"
  for i in {1..40}; do
    head -c 8192 /dev/urandom >"$sparse/$i"
    head -c 4096 /dev/urandom | dd of="$sparse/$i" bs=4096 seek=256 conv=notrunc status=none
  done
  sync -f "$sparse"
  make_catalog "$sparse" "$tmp/sparse.cat"
  measured_and_left "$sparse" --catalog "$tmp/sparse.cat" --engine psync --merge none --order random --cache cold
  holds 'hit_share == 0 and wanted_bytes == 40 * 3 * 4096 and added_bytes == wanted_bytes + unwanted_bytes == after' \
    "after=$after"

  # --- direct: past the page cache ----------------------------------------------------------------------
  call run --catalog "$tmp/small.cat" --no-ceiling --no-probe --probe-cache --cache cold --json
  expect_status 0
  "$python" -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["runs"][0]["page_cache"]))' \
    "$tmp/.out" >"$tmp/row.json"
  holds 'hit_share is None and added_bytes == 0 and wanted_bytes == all' "all=$all"

  # --- few descriptors: what the probes take is not given to files --------------------------------------
  for limit in 70 80 90 100 120; do
    (
      ulimit -n "$limit"
      call run --catalog "$tmp/small.cat" --no-ceiling --probe-cache --merge none --cache cold --json
      if [ "$limit" = 120 ] || [ "$status" = 0 ]; then
        expect_status 0
        expect "ulimit -n $limit" 'run["missing_samples"] == 0 and run["page_cache"] is not None and not run["incomplete"]'
      else
        expect_status 1
        [[ $err == *RLIMIT_NOFILE*'ulimit -n'* ]] || die "ulimit -n $limit: does not say which limit: $err"
      fi
    )
  done

  # --- read-ahead for nothing: a quarter of large files is asked for ------------------------------------
  large=$loopfs_mount/large
  call dataset make "$large" --count 60 --size 1MiB
  make_catalog "$large" "$tmp/large.cat"
  measured_and_left "$large" --catalog "$tmp/large.cat" --engine psync --merge none --order random --read-share 25% --cache cold
  # What the kernel took back meanwhile, short of memory, is counted, too.
  holds 'wanted_bytes == 60 << 18 and hit_share == 0 and added_bytes == after + evicted_bytes == wanted_bytes + unwanted_bytes' \
    "after=$after"
  holds 'unwanted_bytes > 0 and [f["again_bytes"] for f in files] == [0] * 20'
  holds 'all(f["wanted_bytes"] == 1 << 18 and f["added_bytes"] == (1 << 18) + f["unwanted_bytes"] for f in files)'
  reads_ahead && holds 'readahead_bytes == added_bytes and readahead_sync + readahead_async >= readahead_windows >= 60'

  # --- memory for half of it: evicted, and fetched again in the second epoch ----------------------------
  call cache drop
  before=$(resident "$large")
  measured --catalog "$tmp/large.cat" --engine psync --merge none --order lba --epochs 2 --memory-limit 30MiB --cache keep
  after=$(resident "$large")
  holds 'abs(before + added_bytes - evicted_bytes - after) <= 0.01 * added_bytes' "before=$before" "after=$after"
  holds 'again_bytes > 30 << 20 and evicted_bytes > again_bytes and hit_share == 0'
  holds 'sum(f["again_bytes"] for f in files) == 20 << 20 and not any(f["unwanted_bytes"] for f in files)'
  holds 'reclaims > 0 and reclaim_ns > 0 and reclaimed_bytes > 0'
  echo "$fstype: cold, half warm, warm, direct, read-ahead, a memory limit: as mincore(2) says"
  loopfs_remove
done
