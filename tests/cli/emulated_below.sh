#!/usr/bin/env bash
# A loop device whose image lies on an emulated disk has that one's times: it is called so, a disk that answers as another model
# is another experiment, and one that does so for a while within a run, a replay or a map is told.
# Side by side: on disks of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'an emulated disk needs root'
[ -c /dev/fuse ] || skip 'an emulated disk needs FUSE'
disk=below-$$
mkdir "$tmp/lower" "$tmp/upper"
at_exit "'$blksweep' --quiet disk stop $disk --force 2>/dev/null"
call disk start "$disk" --model sata-ssd --size 256MiB --fs ext4 --mount "$tmp/lower"
expect_status 0
truncate -s 100M "$tmp/lower/upper.img"
mkfs.ext4 -qF "$tmp/lower/upper.img"
device=$(losetup --find --show --direct-io=on "$tmp/lower/upper.img")
at_exit "losetup --detach $device"
at_exit "umount '$tmp/upper'"
mount "$device" "$tmp/upper"
data=$tmp/upper/data
call dataset make "$data" --count 200 --size 16KiB
expect_status 0
sync -f "$data"
sync -f "$tmp/lower"
run=(run --data "$data" --cache cold --no-probe --no-ceiling --order lba --batch 10 --window 1MiB --prefetch 0
  --consumer emulated --compute 40ms)
# for_a_while COMMAND... : the model is faster for a moment, once the program has begun to read
for_a_while() {
  background "$@"
  until_read "$device" 500 "$pid"
  "$blksweep" -q disk set "$disk" --speedup 3
  "$blksweep" -q disk set "$disk" --speedup 1
  ended
}
sql() { sqlite3 "$tmp/runs.db" "$1"; }

call doctor "$tmp/lower" --json
[[ $out != *'times include the backing file'* && $out == *'not from what it stands on'* ]] ||
  die 'an emulated disk is said to have the times of its backing file'
call doctor "$data" --json
[[ $out == *'times include the backing file'* ]] || die 'nobody says that a loop device has the times of what it is on'
call "${run[@]}" --db "$tmp/runs.db"
expect_status 0
[ "$(sql 'SELECT device_model FROM experiment')" = 'emulated sata-ssd x1 below' ] || die 'nobody says that it is emulated'
call "${run[@]}" --db "$tmp/runs.db" --repeats 2
expect_status 0
call disk set "$disk" --speedup 2
call "${run[@]}" --db "$tmp/runs.db" --repeats 2
expect_status 0
[ "$(sql 'SELECT count(*) FROM experiment')" = 2 ] || die 'another model below is the same experiment'
call run --data "$data" --cache keep --no-probe --no-ceiling --order lba --merge none --depth 1 --model sata-ssd --json
expect_status 0
printf '%s' "$out" >"$tmp/predicted.json"
call disk set "$disk" --speedup 1
# Where the image lies on the disk below nobody asks: of a model without places it is no matter.
! grep -q 'stands on an emulated disk' "$tmp/predicted.json" || die 'flash has no seeks'
for verb in "run --data $data --cache keep --no-probe --no-ceiling" "simulate $tmp/below.cat"; do
  [ -e "$tmp/below.cat" ] || call catalog "$data" -o "$tmp/below.cat"
  # shellcheck disable=SC2086
  call $verb --order lba --depth 1 --model hdd-7200 --json
  [[ $out == *"${device#/dev/} stands on an emulated disk: addresses are taken for that one's"* ]] ||
    die "${verb%% *}: nobody says that addresses are those of the loop device"
done
echo 'another model: another experiment'

# A prediction has the speed of the disk below.
call run --data "$data" --cache keep --no-probe --no-ceiling --order lba --merge none --depth 1 --model sata-ssd --json
expect_status 0
printf '%s' "$out" | "$python" -c '
import json, sys
once, twice = [json.load(f)["runs"][0]["prediction"]["epoch_ns"] for f in (sys.stdin, open(sys.argv[1]))]
assert 1.99 < once / twice < 2.01, (once, twice)' "$tmp/predicted.json" || die 'predictions of twice the speed'
echo 'another speed: another prediction'

for_a_while "${run[@]}" --json
expect_status 3
[[ $out == *"was set meanwhile ('blksweep disk set $disk', 2 times)"* ]] || die 'a run of two models says nothing'
paced_trace 200 65536 "$tmp/reads.trace"
for_a_while replay "$tmp/reads.trace" --device "$device" --json
expect_status 3
[[ $out == *'was set meanwhile'* ]] || die 'a replay of two models says nothing'
for_a_while map "$device" --seconds 2 --parts size --unwritten --json
[[ $out == *'was set meanwhile'*'map it anew'* ]] || die "a map of two models says nothing: $err"
[[ $out == *'on emulated sata-ssd x1'* ]] || die 'a map of an emulated disk says nothing'
echo 'another model for a while: told'
