#!/usr/bin/env bash
# Files that lie elsewhere than their catalog says, before a run or during it: never a complete run
# with another file's bytes (issue 10, finding 1). The long campaign is tests/soak/movers.sh.
# Side by side: on a disk of its own; bytes are looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
mover=$(realpath "$(dirname "$0")/../support/mover.py")
at_exit loopfs_remove
moving=
at_exit stop_mover
stop_mover() {
  [ -z "$moving" ] || kill "$moving" 2>/dev/null || true
  [ -z "$moving" ] || wait "$moving" 2>/dev/null || true
  moving=
}

loopfs_make "$tmp/ext4.img" "$tmp/ext4" 200M ext4 || skip "$loopfs_reason"
data=$loopfs_mount/data
call dataset make "$data" --count 60 --size 40KiB
expect_status 0
make_catalog "$data" "$tmp/set.cat"
device=(--merge device --no-probe --no-ceiling --json)

# --- nobody moves anything ---------------------------------------------------------------------
call run --catalog "$tmp/set.cat" "${device[@]}"
expect_status 0
expect 'watched, and checked' "run['addresses'] == 'watched' and run['checked_pieces'] == 60 and
  run['checked_wrong'] == 0 and run['checked_bytes'] > 0 and run['address_check_ns'] > 0 and
  run['layout'] and not run['incomplete'] and run['device_fallbacks'] == 0"
call run --catalog "$tmp/set.cat" "${device[@]}" --no-check
expect '--no-check checks nothing' "run['checked_pieces'] is None and run['addresses'] == 'watched'"
call run --catalog "$tmp/set.cat" --merge file --no-probe --no-ceiling --json
expect 'only the device needs the check' "run['checked_pieces'] is None and run['addresses'] == 'compared'"
echo 'quiet: complete'

# --- moved before the run: times and inodes stay --------------------------------------------------
"$blksweep" plan "$tmp/set.cat" >"$tmp/.out" 2>"$tmp/.err"
[ ! -s "$tmp/.err" ] || die "plan: $(cat "$tmp/.err")"
call catalog --check "$tmp/set.cat"
expect_status 0
"$python" "$mover" swap "$data" "$loopfs_mount/scratch" once
call catalog --check "$tmp/set.cat"
expect_status 1
[[ $out == *'0 of 60 files differ from '*', 60 lie elsewhere on the device'* ]] || die "catalog --check: $out"
"$blksweep" plan "$tmp/set.cat" >"$tmp/.out" 2>"$tmp/.err"
grep -q 'warning: of 16 files that were looked at, 0 differ .*, 16 lie elsewhere .* 0 have no address' "$tmp/.err" ||
  die "plan: $(cat "$tmp/.err")"
call simulate "$tmp/set.cat" --model none --json
expect_status 0
[[ $out == *'16 lie elsewhere on the device'* ]] || die 'simulate does not say that files were moved'
for settings in '--merge device' '--merge none --order lba' '--merge none --order chunked'; do
  # shellcheck disable=SC2086
  call run --catalog "$tmp/set.cat" --no-probe --no-ceiling --json $settings
  expect_error 1 '60 of 60 files lie elsewhere on the device' "blksweep catalog $data -o $tmp/set.cat"
done
call run --data "$data" "${device[@]}" --verify
expect_status 0
expect 'scanned now, and right' "run['wrong_samples'] == 0 and not run['incomplete']"
echo 'moved before: refused, or catalogued anew'

# --- away and back during the run, all the time: extents before and after may be equal ------------
"$python" "$mover" swap "$data" "$loopfs_mount/scratch" loop &
moving=$!
call run --data "$data" "${device[@]}" --verify --order random --depth 4 --batch 2 --prefetch 1 \
  --window 512KiB --compute 20ms --repeats 2
stop_mover
expect_status 0 1 3
if [ "$status" != 1 ]; then
  expect 'a run under a mover is complete' "all(
    [r for r in run['incomplete_reason'].split('; ') if 'samples wrong' not in r] for run in runs)"
fi
echo 'moved during: incomplete'

# --- somebody who could move it, from before the run to after it -----------------------------------
first=$(find "$data" -type f | sort | sed -n 1p)
exec 9<>"$first"
call run --data "$data" "${device[@]}"
expect_status 3
expect 'who writes is named' "'open for writing' in run['incomplete_reason'] and run['addresses'] == 'changed'
  and '${first#"$data"/}' in run['incomplete_reason']"
exec 9>&-
echo 'open for writing: incomplete'

# --- as an ordinary user: the cell is what ran, and the reason is the true one (finding 17) --------
chmod -R a+rX "$loopfs_mount"
call as_nobody run --data "$data" "${device[@]}"
expect_status 0
expect 'the cell says device where no device was read' "run['cell']['merge'] == 'file' and
  run['cell']['merge-asked'] == 'device' and run['device_fallbacks'] == 60"
expect 'the reason' "any('asked device, got file' in w and 'open $loopfs_device: Permission denied' in w
  for w in run['warnings'])"
call as_nobody run --data "$data" --merge none,device --no-probe --no-ceiling
expect_status 0
[[ $out == *fallbacks* && $out == *merge-asked* ]] || die 'the table has no column of fallbacks'
echo 'not readable: named by what ran'

# --- another image over it in the middle: same names, inodes, times and extents, other bytes ---------
sync -f "$loopfs_mount"
cp --sparse=always "$tmp/ext4.img" "$tmp/copy.img"
over=$(losetup --find --show --direct-io=on "$tmp/copy.img")
at_exit "umount '$loopfs_mount' 2>/dev/null; losetup --detach $over"
"$blksweep" --quiet run --data "$data" --merge device --compute 20ms --batch 10 --repeats 12 --no-probe \
  --no-ceiling --db "$tmp/over.db" >"$tmp/.out" 2>"$tmp/.err" </dev/null &
pid=$!
stored() { sqlite3 "$tmp/over.db" "$1" 2>/dev/null || echo 0; }
for ((i = 0; i < 600 && $(stored 'SELECT count(*) FROM run') < 2; ++i)); do
  sleep 0.02
done
mount "$over" "$loopfs_mount"
status=0
wait "$pid" || status=$?
out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
umount "$loopfs_mount"
[[ $status = 1 && $err == *'another filesystem is mounted there than at the beginning'*'is kept'* ]] ||
  die 'no word of the other image'
(($(stored 'SELECT count(*) FROM run') < 12)) || die 'runs went on under another image'
[ "$(stored "SELECT count(*) FROM run WHERE incomplete = 1 AND
    incomplete_reason NOT LIKE '%another filesystem%'")" = 0 ] || die 'the reason is another one'
echo 'another image: refused'

# --- a disk of its own inside the folder: figures would be of one disk and the bytes of two -----------
mkdir "$data/inner"
mount "$over" "$data/inner"
at_exit "umount '$data/inner' 2>/dev/null"
call run --data "$data" --no-probe --no-ceiling
expect_error 1 'a run reads one disk' "$over" "$loopfs_device"
call catalog "$data" -o "$tmp/two.cat"
call run --catalog "$tmp/two.cat" --no-probe --no-ceiling
expect_error 1 'a run reads one disk'
umount "$data/inner"
echo 'two disks: refused'

# --- a folder is exchanged for one of the same names, and back, while it is read -----------------
cp -a "$data" "$loopfs_mount/other"
find "$loopfs_mount/other" -type f -exec dd if=/dev/zero of={} bs=40K count=1 conv=notrunc status=none \;
sync -f "$data"
make_catalog "$data" "$tmp/swap.cat"
exchange() {
  "$python" -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))' "$1" "$2"
}
folder=$(find "$data" -mindepth 1 -maxdepth 1 -type d | sort | sed -n 1p)
"$blksweep" --quiet run --catalog "$tmp/swap.cat" --order random --no-probe --no-ceiling --openers 0 --batch 4 --window 64KiB \
  --depth 1 --consumer emulated --compute 100ms --db "$tmp/swap.db" >"$tmp/.out" 2>"$tmp/.err" &
pid=$!
sleep 0.4
exchange "$folder" "$loopfs_mount/other/${folder##*/}"
sleep 0.8
exchange "$folder" "$loopfs_mount/other/${folder##*/}"
status=0
wait "$pid" || status=$?
expect_status 3
[[ $(sqlite3 "$tmp/swap.db" 'SELECT incomplete_reason FROM run') == *"$folder was renamed during the run"* ]] ||
  die 'files of a folder that took the place of one of the set pass for its own'
echo 'exchanged and back: not complete'
