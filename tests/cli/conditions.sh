#!/usr/bin/env bash
# What a run was measured under is what its experiment says: another mount below the data, a queue,
# a limit, a model that change in mid-sweep, a process that was stopped, memory that was not warm.
# Side by side: on disks of its own; what is said of their changes is looked at, not times.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M
data=$loopfs_mount/data
call dataset make "$data" --count 600 --size 24KiB
expect_status 0
sync -f "$data"
name=${loopfs_device#/dev/}
first=$(find "$data" -mindepth 1 -maxdepth 1 -type d | sort | sed -n 1p)
quiet=(--no-probe --no-ceiling)
slow=("${quiet[@]}" --batch 32 --window 1MiB --consumer emulated --compute 60ms)
sql() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }
in_epoch() { until_read "$1" 8000 "$pid"; } # DEVICE : a part of the data set's 14 MB was read
reasons() { sql "$1" 'SELECT group_concat(incomplete_reason) FROM run WHERE incomplete = 1'; }

# --- the same names on another disk, over a folder of the data set, for some time of the run -------
mkdir "$tmp/copy"
cp --sparse=always "$tmp/disk.img" "$tmp/copy.img"
at_exit "umount '$tmp/copy' 2>/dev/null"
at_exit "umount --lazy '$first' 2>/dev/null"
mount -o loop "$tmp/copy.img" "$tmp/copy"
for file in "$tmp/copy/data/${first##*/}"/*; do
  dd if=/dev/urandom of="$file" bs=24K count=1 conv=notrunc status=none
done
covered() { # TRY : one run beside which the folder is covered for a while
  background run --data "$data" --order random --seed "$1" --cache cold "${slow[@]}" --verify --db "$tmp/mount.db"
  sleep 0.4
  mount --bind "$tmp/copy/data/${first##*/}" "$first"
  sleep 0.4
  umount --lazy "$first"
  ended
}
for try in 1 2 3 4 5; do
  covered "$try"
  [ "$(sql "$tmp/mount.db" 'SELECT max(ifnull(wrong_samples, 0)) FROM run')" = 0 ] ||
    die 'files below another mount were read for those of the data set'
  [ "$(sql "$tmp/mount.db" 'SELECT max(missing_samples) FROM run')" = 0 ] || break
done
expect_status 3
umount "$tmp/copy"
rm "$tmp/copy.img"
echo 'another mount: its files are missing, not taken'

# --- the scheduler's own settings, and the queue, while a sweep goes on ------------------------------
iosched=/sys/block/$name/queue/iosched
if grep -q mq-deadline "/sys/block/$name/queue/scheduler" && echo mq-deadline >"/sys/block/$name/queue/scheduler"; then
  before=$(cat "$iosched/fifo_batch")
  background run --data "$data" --order lba "${slow[@]}" --cache cold --repeats 2 --db "$tmp/queue.db"
  in_epoch "$name"
  echo $((before + 1)) >"$iosched/fifo_batch"
  ended
  echo "$before" >"$iosched/fifo_batch"
  echo none >"/sys/block/$name/queue/scheduler"
  expect_status 3
  [[ $(reasons "$tmp/queue.db") == *iosched/fifo_batch* ]] || die 'a setting of the scheduler changed, and nothing is said'
  echo 'scheduler: a change is said'
else
  echo 'scheduler: this kernel has no mq-deadline'
fi

# --- mounted with other options in mid-sweep -------------------------------------------------------------
background run --data "$data" --order lba "${slow[@]}" --cache cold --repeats 2 --db "$tmp/options.db"
in_epoch "$name"
mount -o remount,noatime,inode_readahead_blks=1 "$loopfs_mount"
ended
mount -o remount,relatime,inode_readahead_blks=32 "$loopfs_mount"
expect_status 3
[[ $(reasons "$tmp/options.db") == *'mount options changed: '*', now '*inode_readahead_blks=1* ]] || die 'another mount, and nothing is said'
echo 'mount options: a change is said'

# --- the queue of a disk below the disk -----------------------------------------------------------------
truncate -s 60M "$loopfs_mount/upper.img"
mkfs.ext4 -qF "$loopfs_mount/upper.img"
mkdir "$tmp/upper"
at_exit "umount '$tmp/upper' 2>/dev/null"
mount -o loop "$loopfs_mount/upper.img" "$tmp/upper"
call dataset make "$tmp/upper/data" --count 300 --size 24KiB
background run --data "$tmp/upper/data" --order lba "${slow[@]}" --cache keep --repeats 2 --db "$tmp/lower.db"
in_epoch "$(findmnt -no SOURCE "$tmp/upper")"
old=$(cat "/sys/block/$name/queue/nomerges")
echo 2 >"/sys/block/$name/queue/nomerges"
ended
echo "$old" >"/sys/block/$name/queue/nomerges"
umount "$tmp/upper"
rm "$loopfs_mount/upper.img"
expect_status 3
[[ $(reasons "$tmp/lower.db") == *"$name queue/nomerges"* ]] || die 'the queue of the disk below changed, and nothing is said'
echo 'disk below: a change is said'

# --- ceilings of another disk state are none of this experiment's -------------------------------------------
background run --data "$data" --order lba --no-probe "${slow[@]:2}" --cache cold --repeats 3 --db "$tmp/ceiling.db"
until [ "$(sql "$tmp/ceiling.db" 'SELECT count(*) FROM run' 2>/dev/null)" = 1 ]; do
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.05
done
echo 2 >"/sys/block/$name/queue/nomerges"
ended
echo "$old" >"/sys/block/$name/queue/nomerges"
expect_status 3
[ "$(sql "$tmp/ceiling.db" 'SELECT count(*) FROM ceiling WHERE round = 2')" = 0 ] ||
  die 'a ceiling measured on another queue stands beside the runs'
call run --data "$data" --order lba --no-probe --cache cold --repeats 3 --db "$tmp/ceilings.db"
[ "$(sql "$tmp/ceilings.db" 'SELECT count(DISTINCT round) FROM ceiling')" = 3 ] || die 'this test cannot fail'
echo 'ceilings of a changed queue: left out'

# --- a limit of the cgroup that the sweep runs in ---------------------------------------------------------------
group=/sys/fs/cgroup/blksweep-test-$$ limit=cpu.max changed='90000 100000'
if [ -d /sys/fs/cgroup/cpu ]; then
  group=/sys/fs/cgroup/cpu/blksweep-test-$$ limit=cpu.cfs_quota_us changed=90000
fi
if mkdir "$group" 2>/dev/null && [ -w "$group/$limit" ]; then
  at_exit "rmdir '$group'"
  in_group() {
    echo "$BASHPID" >"$group/cgroup.procs"
    exec "$blksweep" --quiet "$@"
  }
  in_group run --data "$data" --order lba "${slow[@]}" --cache cold --repeats 2 --db "$tmp/group.db" >"$tmp/.out" 2>"$tmp/.err" &
  pid=$!
  in_epoch "$name"
  echo "$changed" >"$group/$limit"
  ended
  expect_status 3
  [[ $(reasons "$tmp/group.db") == *"cgroup of this process"* ]] || die 'a limit of the group changed, and nothing is said'
  echo 'cgroup: a change is said'
  mkdir "$group/within" # what a group above is refused is refused here
  at_exit "rmdir '$group/within'"
  echo "${changed/90000/20000}" >"$group/$limit"
  (group=$group/within && in_group run --data "$data" --order lba --cache keep "${quiet[@]}" --decode-threads 2 --decode-cpu 1ms \
    --db "$tmp/quota.db") >"$tmp/.out" 2>"$tmp/.err" || die 'under a quota from the beginning: not done'
  [[ $(sql "$tmp/quota.db" 'SELECT group_concat(text) FROM warning') == *'a CPU quota held the cgroup'* ]] ||
    die 'a run that its quota held for most of the time does not say so'
  echo 'quota: said'
else
  echo "cgroup: no group with $limit can be made here"
fi

# --- a process that is stopped: its clock goes on -----------------------------------------------------
background run --data "$data" --order lba "${slow[@]}" --cache cold --db "$tmp/stop.db"
in_epoch "$name"
kill -STOP "$pid"
sleep 0.3
kill -CONT "$pid"
ended
expect_status 3
[[ $(reasons "$tmp/stop.db") == *SIGSTOP* ]] || die 'a stopped process measures time'
echo 'stopped: said'

# --- small data that leave memory again and again are not warm --------------------------------------------
mkdir "$loopfs_mount/small"
for i in $(seq 60); do head -c 4096 /dev/urandom >"$loopfs_mount/small/$i"; done
sync -f "$loopfs_mount"
background run --data "$loopfs_mount/small" --buffered --cache warm "${quiet[@]}" --batch 2 --window 8KiB \
  --consumer emulated --compute 30ms --prefetch 0 --depth 1 --db "$tmp/warm.db"
for _ in $(seq 40); do
  echo 1 >/proc/sys/vm/drop_caches
  sleep 0.05
done
ended
expect_status 3
[[ $(reasons "$tmp/warm.db") == *'not warm'* ]] || die 'small data from the device pass for warm'
echo 'small data: not warm'

# --- inodes that a watch holds stay through every drop of caches ------------------------------------------
"$python" - "$data" <<'PY' &
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
fd = libc.inotify_init()
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        assert libc.inotify_add_watch(fd, os.path.join(folder, name).encode(), 2) > 0
open(sys.argv[1] + "/../ready", "w").close()
time.sleep(120)
PY
watcher=$!
end_at_exit "$watcher"
until [ -e "$loopfs_mount/ready" ]; do sleep 0.05; done
call run --data "$data" --cache cold "${quiet[@]}" --db "$tmp/watch.db"
expect_status 3
[[ $(reasons "$tmp/watch.db") == *'stay cached'* ]] || die 'inodes that a watch holds pass for cold'
kill "$watcher"
echo 'watches: not cold'

# --- a cache below the device keeps what the first arm has read ---------------------------------------------
if command -v fio >/dev/null; then
  sync -f "$loopfs_mount" # what is written back meanwhile would be the reason
  losetup --direct-io=off "$loopfs_device"
  call run --data "$data" --order random "${quiet[@]}" --fio-twin --cache keep --db "$tmp/below.db"
  losetup --direct-io=on "$loopfs_device"
  [ "$(sql "$tmp/below.db" 'SELECT count(*) FROM fio WHERE ratio IS NOT NULL')" = 0 ] || die 'a ratio of a cache below'
  [[ $(sql "$tmp/below.db" 'SELECT ratio_reason FROM fio') == *'page cache below'* ]] || die 'the cache below is not named'
  echo 'a cache below: no ratio'
fi

# --- a compressed file below a device with direct I/O is read through pages all the same -----------------------
if command -v fio mkfs.btrfs >/dev/null; then
  truncate -s 200M "$loopfs_mount/btrfs.img"
  mkfs.btrfs -q "$loopfs_mount/btrfs.img" >/dev/null
  mkdir "$tmp/btrfs" "$tmp/squeezed"
  at_exit "umount '$tmp/squeezed' 2>/dev/null; umount '$tmp/btrfs' 2>/dev/null"
  mount -o loop,compress-force=zstd "$loopfs_mount/btrfs.img" "$tmp/btrfs"
  truncate -s 60M "$tmp/btrfs/disk.img"
  mkfs.ext4 -qF "$tmp/btrfs/disk.img"
  inner=$(losetup --find --show --direct-io=on "$tmp/btrfs/disk.img" 2>/dev/null || losetup --find --show "$tmp/btrfs/disk.img")
  detach_at_exit "$inner"
  mount "$inner" "$tmp/squeezed"
  mkdir "$tmp/squeezed/data"
  for i in $(seq 100); do head -c 24576 < <(yes "line $i") >"$tmp/squeezed/data/$i"; done
  sync -f "$tmp/squeezed"
  sync -f "$tmp/btrfs"
  call run --data "$tmp/squeezed/data" --order random "${quiet[@]}" --fio-twin --cache keep --db "$tmp/squeezed.db"
  [ "$(sql "$tmp/squeezed.db" 'SELECT count(*) FROM fio WHERE ratio IS NOT NULL')" = 0 ] || die 'a ratio of a compressed file'
  [[ $(sql "$tmp/squeezed.db" 'SELECT ratio_reason FROM fio') == *'page cache below'* ]] || die 'the compressed file is not named'
  umount "$tmp/squeezed"
  losetup --detach "$inner"
  while losetup "$inner" >/dev/null 2>&1; do sleep 0.05; done # whoever looks at all devices keeps it for a moment
  umount "$tmp/btrfs"
  rm "$loopfs_mount/btrfs.img"
  echo 'a compressed file below: no ratio'
fi

# --- an emulated disk whose model was edited under its old name is another disk -------------------------------
if [[ -c /dev/fuse ]]; then
  disk=conditions-$$
  at_exit "$blksweep --quiet disk stop $disk --force 2>/dev/null"
  cp "$(dirname "$0")/../../scripts/models/sata-ssd.toml" "$tmp/mine.toml"
  mkdir "$tmp/emulated"
  call disk start "$disk" --model "$tmp/mine.toml" --size 64MiB --fs ext4 --mount "$tmp/emulated"
  expect_status 0
  call dataset make "$tmp/emulated/data" --count 50 --size 8KiB
  sweep=(run --data "$tmp/emulated/data" "${quiet[@]}" --cache cold --db "$tmp/model.db")
  call "${sweep[@]}" --repeats 1
  expect_status 0
  sed -i -E 's/^(channels *= *).*/\12/' "$tmp/mine.toml"
  call disk set "$disk" --model "$tmp/mine.toml"
  expect_status 0
  call "${sweep[@]}" --repeats 2
  expect_status 0
  [ "$(sql "$tmp/model.db" 'SELECT count(*) FROM experiment')" = 2 ] || die 'another model is the same experiment'
  echo 'emulated disk: another model is another experiment'
  for backing in "$tmp/one.img" "$tmp/other.img"; do # the same bytes, on what may be another disk
    call disk stop "$disk"
    [ ! -e "$tmp/one.img" ] || cp --sparse=always "$tmp/one.img" "$tmp/other.img"
    call disk start "$disk" --model sata-ssd --size 64MiB --backing "$backing" --fs ext4 --mount "$tmp/emulated"
    expect_status 0
    [ -e "$tmp/emulated/data" ] || call dataset make "$tmp/emulated/data" --count 50 --size 8KiB
    sync -f "$tmp/emulated"
    call run --data "$tmp/emulated/data" "${quiet[@]}" --cache cold --repeats 2 --db "$tmp/backing.db"
    expect_status 0
  done
  [ "$(sql "$tmp/backing.db" 'SELECT count(*) FROM experiment')" = 2 ] ||
    die 'another backing is the same experiment'
  echo 'emulated disk: another backing is another experiment'
  background run --data "$tmp/emulated/data" "${quiet[@]}" --cache cold --depth 1 --batch 5 --consumer emulated --compute 100ms \
    --db "$tmp/back.db"
  emulated=$(findmnt -no SOURCE "$tmp/emulated")
  until_read "$emulated" 500 "$pid"
  "$blksweep" -q disk set "$disk" --speedup 7
  "$blksweep" -q disk set "$disk" --speedup 1
  ended
  expect_status 3
  [[ $(reasons "$tmp/back.db") == *"was set meanwhile ('blksweep disk set $disk', 2 times)"* ]] ||
    die 'another model for some time of the run, and nothing is said'
  background map "$emulated" --seconds 3 --json
  sleep 1 # into its reads
  "$blksweep" -q disk set "$disk" --speedup 7
  "$blksweep" -q disk set "$disk" --speedup 1
  ended
  [[ $out == *"'blksweep disk set $disk', 2 times"*'map it anew'* ]] || die 'a map of two models says nothing'
  echo 'emulated disk: another model for some time of a run, of a map is said'
  # Replies in 0.1 us: the way to the daemon alone takes longer, and no reply of its is late.
  call disk set "$disk" --model sata-ssd --speedup 1000
  expect_status 0
  call run --data "$tmp/emulated/data" --no-ceiling --depth 1 --cache cold --db "$tmp/lag.db"
  expect_status 0
  lagging=$(sql "$tmp/lag.db" "SELECT count(*) FROM warning WHERE text LIKE '%where its model takes%did not keep up%'")
  [ "$lagging" = "$(sql "$tmp/lag.db" 'SELECT count(*) FROM probe')" ] || die 'slower than its model, and nobody says so'
  # Without a probe the kernel's own count is looked at: beyond what a plug list may hold, and so of a daemon that stands.
  call dataset make "$tmp/emulated/more" --count 300 --size 8KiB
  call disk set "$disk" --model sata-ssd --speedup 0.01
  background run --data "$tmp/emulated/more" --no-ceiling --no-probe --merge none --order random --depth 4 --cache cold --db "$tmp/held.db"
  until_read "$emulated" 1500 "$pid"
  held=$(cut -d " " -f 1 "/run/blksweep/disks/$disk/daemon")
  kill -STOP "$held"
  sleep 2
  kill -CONT "$held"
  ended
  expect_status 0
  [ "$(sql "$tmp/held.db" "SELECT count(*) FROM warning WHERE text LIKE '%where its model takes%did not keep up%'")" = 1 ] ||
    die 'a daemon that stood still, and nobody says so'
  echo 'emulated disk: a machine that does not keep up is told, without a probe, too'
fi
