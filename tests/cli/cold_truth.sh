#!/usr/bin/env bash
# What a run starts from is known or called unknown, pages are warm inside the limit that the run is
# under, and a warning says which run it concerns (issue 10, findings 10 and 18).
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M
data=$loopfs_mount/data
call dataset make "$data" --count 400 --size 256KiB
expect_status 0
quiet=(--data "$data" --no-probe --no-ceiling --json)

# --- two buffered epochs from cold: the second comes from what the first has left -----------------
call run "${quiet[@]}" --buffered --cache cold --epochs 2
expect_status 0
expect 'the run itself is not something else that held the data' "not any('cold' in w for w in run['warnings'])
  and run['device_bytes_expected'] <= run['device_bytes'] < 1.5 * run['device_bytes_expected']"
call run "${quiet[@]}" --direct --cache cold --epochs 2
expect_status 0
expect 'direct reads need the device in each epoch' "run['device_bytes_expected'] >= 2 * 400 * 256 * 1024"
call run "${quiet[@]}" --cache keep
expect 'nothing is expected of a run that is not cold' "run['device_bytes_expected'] is None"

# Holes and unwritten extents need no device: a cold run of them is none that a cache served.
mkdir "$loopfs_mount/holes"
for i in 1 2 3 4; do
  truncate -s 1M "$loopfs_mount/holes/hole$i"
  fallocate -l 1M "$loopfs_mount/holes/unwritten$i"
  head -c 64K /dev/urandom >"$loopfs_mount/holes/data$i"
done
call run --data "$loopfs_mount/holes" --no-probe --no-ceiling --json --direct --cache cold
expect_status 0
expect 'holes are expected of no device' "run['device_bytes_expected'] == 4 * 65536 and not run['incomplete']"
echo 'expected bytes: fine'

# --- a file in memory is no medium, however the loop device reads it ----------------------------------
mkdir "$tmp/memory" "$tmp/on-memory"
mount -t tmpfs -o size=64m blksweep-test "$tmp/memory"
at_exit "umount '$tmp/memory'"
truncate -s 40M "$tmp/memory/image"
mkfs.ext4 -qF "$tmp/memory/image"
for direct in on off; do
  if ! loop=$(losetup --find --show --direct-io=$direct "$tmp/memory/image" 2>&1); then
    echo "no loop device with direct I/O $direct over tmpfs here: $loop"
    continue
  fi
  detach_at_exit "$loop"
  mount "$loop" "$tmp/on-memory"
  at_exit "umount '$tmp/on-memory' 2>/dev/null"
  [ -d "$tmp/on-memory/data" ] || make_data "$tmp/on-memory/data" 50
  call run --data "$tmp/on-memory/data" --no-probe --no-ceiling --json --cache cold
  expect_status 0
  expect "direct I/O $direct: the disk is memory, and no more is said of it" "
    [w for w in run['warnings'] if w.startswith('cold: ')] ==
    ['cold: ${loop#/dev/} is memory ($tmp/memory/image is on tmpfs): no read of it needs a medium']"
  umount "$tmp/on-memory"
  losetup --detach "$loop"
done
echo 'a disk in memory: said'

# --- a loop device on another one: its node is on devtmpfs, its bytes are not ---------------------------
mkdir "$tmp/on-device"
truncate -s 40M "$tmp/lower.img"
lower=$(losetup --find --show --direct-io=on "$tmp/lower.img")
detach_at_exit "$lower"
upper=$(losetup --find --show --direct-io=off "$lower")
detach_at_exit "$upper"
mkfs.ext4 -qF "$upper"
mount "$upper" "$tmp/on-device"
at_exit "umount '$tmp/on-device'"
make_data "$tmp/on-device/data" 50
call run --data "$tmp/on-device/data" --no-probe --no-ceiling --json --cache cold
expect_status 0
expect 'a device is no memory, and is read through a page cache' "
  not any('is memory' in w for w in run['warnings']) and
  any(w.startswith('cold: ${upper#/dev/} reads $lower without direct I/O') for w in run['warnings'])"
call map "$upper" --seconds 1 --parts size --json
expect_status 0
[[ $out == *'"left_out_by": null'* ]] || die 'a block device is said to have holes'
echo 'a disk on a disk: no memory'

# --- residency that cannot be examined is unknown, and no start of a cold run ----------------------
chmod -R a+rX "$loopfs_mount"
call as_nobody run "${quiet[@]}" --buffered --cache cold
if [ "$status" = 0 ]; then
  expect 'this kernel shows everybody what is resident' "run['resident_before'] is not None"
else
  expect_status 3
  expect 'unknown is not 0' "run['resident_before'] is None and run['resident_after'] is None and
    'not known to be cold' in run['incomplete_reason'] and 'could not be examined' in run['incomplete_reason']"
fi
echo 'unknown residency: fine'

# --- warm inside the memory limit: pages of before belong to another group ------------------------
warm_without_a_limit() {
  call run "${quiet[@]}" --buffered --cache warm
  expect 'without a limit all of it is warm' "run['resident_before'] == 1.0 and run['device_bytes'] == 0"
}
in_three_tries warm_without_a_limit
call run "${quiet[@]}" --buffered --cache warm --memory-limit 32MiB
if [ "$status" = 77 ]; then
  echo "no memory limit here: $err"
else
  expect_status 0
  expect 'a limit of a third of the data leaves a third of it warm, and the run reads the rest' \
    "run['resident_before'] < 0.5 and run['device_bytes'] > 0.4 * run['bytes'] and
     run['limit_use']['cache_peak_bytes'] > 16 << 20"
  expect 'and it says so' "any('not fully warm' in w for w in run['warnings'])"
fi
echo 'warm inside the limit: fine'

# --- a warning names its run -------------------------------------------------------------------------
"$blksweep" run "${quiet[@]}" --engine psync --order random,path --repeats 2 --depth 8 >"$tmp/.out" 2>"$tmp/.err"
out='' err=$(cat "$tmp/.err") status=0
grep -q 'warning: run 1 (.*): engine psync keeps 1 read in flight' "$tmp/.err" || die 'the warning names no run'
grep -q 'warning: runs 2-4 too: engine psync' "$tmp/.err" || die 'nor the others that it concerns'
for repeats in 2 3; do  # what is in a database already is not run again, and counts in its numbers
  "$blksweep" run "${quiet[@]}" --engine psync --order random,path --repeats $repeats --depth 8 --db "$tmp/named.db" >"$tmp/.out" 2>"$tmp/.err"
done
grep -q 'warning: run 5 (.*): engine psync keeps 1 read in flight' "$tmp/.err" || die "not as the database numbers it: $(cat "$tmp/.err")"
echo 'warnings: named'

# --- what is warm for direct reads ------------------------------------------------------------------
for io in '' --buffered; do
  "$blksweep" run --data "$data" --no-probe --no-ceiling --json --cache warm $io >"$tmp/.out" 2>"$tmp/.err" ||
    [ $? = 3 ] || die "warm ${io:-direct}: $(tail -1 "$tmp/.err")" # 3: the kernel took pages back meanwhile, and the run says so
  said=$(grep -c 'cache warm: direct reads pass the page cache by' "$tmp/.err" || true)
  [ "$said" = "$([ -n "$io" ] && echo 0 || echo 1)" ] || die "warm ${io:-direct}: said $said times"
done
echo 'warm for direct reads: said'
