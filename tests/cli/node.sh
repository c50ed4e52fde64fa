#!/usr/bin/env bash
# node show, set, restore on a loop device: what was there comes back file by file, bad input and
# journals that cannot be trusted are one line each, and nothing is written to the device.
# Side by side: a disk and a /run of its own; what is put back is looked at.
set -euo pipefail

# shellcheck source=tests/cli/own_run.bash
. "$(dirname "$0")/own_run.bash"
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device'
truncate -s 64M "$tmp/image"
device=$(losetup --find --show "$tmp/image") || skip 'needs a loop device'
at_exit "losetup --detach $device"
disk=${device#/dev/}
queue=/sys/block/$disk/queue
journal=/run/blksweep/journal

tree() { (cd "$queue" && grep -r '' . 2>/dev/null | sort); }
at_first=$(tree)
# The device keeps its settings for whoever gets it next.
put_back() {
  local file
  sed 's/.*\[\(.*\)\].*/\1/' <"$tmp/scheduler" >"$queue/scheduler"
  for file in max_sectors_kb nomerges rotational rq_affinity nr_requests wbt_lat_usec read_ahead_kb; do
    cat "$tmp/first/$file" >"$queue/$file" 2>/dev/null || true
  done
}
cat "$queue/scheduler" >"$tmp/scheduler"
mkdir "$tmp/first"
for file in "$queue"/*; do
  [ ! -f "$file" ] || cat "$file" >"$tmp/first/${file##*/}" 2>/dev/null || true
done
at_exit put_back
schedulers=$(tr -d "[]" <"$queue/scheduler" | xargs)

same_as() { [ "$(tree)" = "$1" ] || die "$2: $(diff <(echo "$1") <(tree))"; }
writes() { awk '{ print $5 }' "/sys/block/$disk/stat"; }
writes_before=$(writes)

# --- bad input: one line each, nothing changed ---------------------------------------------------
call as_nobody node set --device "$disk" --nomerges 1
expect_error 77 root
call as_nobody node restore
expect_error 77 root
[ ! -e "$journal" ] || [ -z "${OWN_RUN:-}" ] || die 'something was made before rights were known'
call as_nobody node show "$disk" --json
expect_status 0

call node set --device "$disk" --scheduler no-such
# shellcheck disable=SC2086
expect_error 1 "'no-such'" $schedulers
call node set --device "$disk" --nomerges 1 --nr-requests 99999999
expect_error 1 99999999 "$queue/nr_requests" 'Invalid argument'
call node set --device "$disk" --nomerges 1 --dirty-ratio 1000
expect_error 1 1000 /proc/sys/vm/dirty_ratio 'Invalid argument'
call node set --device "$disk" --iosched no_such=1
expect_error 77 no_such
call node set --device /dev/no-such-device --nomerges 1
expect_error 1 /dev/no-such-device
call node set --device /proc --nomerges 1
expect_error 77 /proc proc
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
  call node set --device /dev/shm --nomerges 1
  expect_error 77 /dev/shm tmpfs
  call node show /dev/shm
  expect_error 77 /dev/shm tmpfs
fi
for wrong in "--nomerges x" "--read-ahead 100B" "--read-ahead 128" "--wbt-lat 5" "--rotational 2" \
  "--iosched low_latency" "--nr-requests -1"; do
  read -r -a words <<<"$wrong"
  call node set --device "$disk" "${words[@]}"
  expect_error 2 "${words[0]}" "'${words[1]}'"
done
call node set --nomerges 1
expect_error 2 --device
call node set --device "$disk"
expect_error 2 --scheduler
call node set --dirty-ratio 10 --dirty-bytes 1MiB
expect_error 2 dirty_ratio dirty_bytes
same_as "$at_first" 'after bad input'
[ -z "$(ls "$journal" 2>/dev/null)" ] || [ -z "${OWN_RUN:-}" ] || die 'bad input left a journal'
echo 'bad input: refused'

# --- every scheduler and back --------------------------------------------------------------------
turn_at_tunables -x
vm_before=$(grep -r '' /proc/sys/vm/dirty_* /proc/sys/vm/vfs_cache_pressure)
for scheduler in $schedulers; do
  call node set --device "$disk" --scheduler "$scheduler" --nr-requests 40 --read-ahead 64KiB \
    --nomerges 2 --max-sectors 256KiB --rq-affinity 2 --rotational 0 --wbt-lat 3ms \
    --vfs-cache-pressure 77 --dirty-bytes 64MiB --dirty-background-bytes 16MiB --json
  expect_status 0
  /usr/bin/python3 - "$tmp/.out" "$queue" <<'PY'
import json, re, sys
for s in json.load(open(sys.argv[1]))["settings"]:
    assert s["got"] == s["asked"], s
    if "/" not in s["name"]:
        now = open(f"{sys.argv[2]}/{s['name']}").read().strip()
        now = re.sub(r".*\[(.*)\].*", r"\1", now)
        assert now == s["got"], (s, now)
PY
  call node show "$device" --json
  expect_status 0
  /usr/bin/python3 - "$tmp/.out" "$scheduler" "$disk" <<'PY'
import json, sys
shown = json.load(open(sys.argv[1]))
assert shown["scheduler"] == sys.argv[2] and sys.argv[2] in shown["schedulers"]
assert shown["queue"]["nr_requests"] == "40" and shown["tunables"]["vm/vfs_cache_pressure"] == "77"
assert shown["stack"][0] == sys.argv[3] and len(shown["stack"]) >= 2, shown["stack"]
keys = {b["key"] for b in shown["borrowed"]}
assert {f"{sys.argv[3]}/queue", "vm/dirty", "vm/dirty_background"} <= keys, keys
assert all(b["state"] == "kept" for b in shown["borrowed"] if b["key"].startswith(sys.argv[3]))
PY
  call node show "$disk"
  expect_status 0
  [[ $out == *"schedulers  ${schedulers// /, }"*nr_requests*40*'node set'* ]] || die 'show does not say what is borrowed'
  [ "$(wc -l <"$tmp/.out")" -le 50 ] || die 'show is more than a screen'
  call node restore
  expect_status 0
  same_as "$at_first" "back from $scheduler"
  [ "$(grep -r '' /proc/sys/vm/dirty_* /proc/sys/vm/vfs_cache_pressure)" = "$vm_before" ] ||
    die 'the node is not as before'
done
let_tunables_go
call node restore --json
expect_status 0
echo "every scheduler and back: $(wc -w <<<"$schedulers") as before"

# A setting on a setting: in the end the first one is back.
for n in 32 16 8; do
  call node set --device "$disk" --nr-requests "$n"
  expect_status 0
done
call node restore
expect_status 0
same_as "$at_first" 'three settings on each other'

# A partition's settings are its disk's.
if command -v addpart >/dev/null && addpart "$device" 1 2048 65536 2>/dev/null; then
  at_exit "delpart $device 1"
  call node set --device "${disk}p1" --nomerges 1
  expect_status 0
  [ "$(cat "$queue/nomerges")" = 1 ] || die 'the disk of the partition was not set'
  call node show "${device}p1"
  expect_status 0
  [[ $out == *"a partition of $disk"* ]] || die 'show does not name the disk of a partition'
  call node restore
  expect_status 0
fi

# --- journals that cannot be trusted ---------------------------------------------------------------
[ -n "${OWN_RUN:-}" ] || skip 'the rest needs a mount namespace, so as not to break journals of others'

# untrusted TEXT...: told by show, refused in one line by set and restore; nothing is written.
untrusted() {
  local text
  call node show "$disk" --json
  expect_status 0
  for text in "${@:1:2}"; do
    [[ $out == *'"problems": ['*"$text"* ]] || die "show does not say $text"
  done
  call node set --device "$disk" --nomerges 2
  expect_error 1 "$@"
  call node restore
  expect_error 1 "$@"
  [ "$(cat "$queue/nomerges")" = 1 ] || die 'written on the word of a journal that is not trusted'
}
call node set --device "$disk" --nomerges 1
expect_status 0
cp "$journal/kept" "$tmp/kept"

printf 'torn' >>"$journal/kept"
call node restore
expect_status 0
same_as "$at_first" 'a torn last line'

call node set --device "$disk" --nomerges 1
cp "$journal/kept" "$tmp/kept"
sed -i '2s/nomerges/nomerge5/' "$journal/kept"
untrusted "$journal/kept" 'damaged in line 2' 'node restore --discard'

cp "$tmp/kept" "$journal/kept"
chmod 666 "$journal/kept"
untrusted "$journal/kept" 'writable by others'
chmod 600 "$journal/kept"

mv "$journal/kept" "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$journal/kept"
untrusted "$journal/kept" 'symbolic link'
cmp -s "$tmp/kept" "$tmp/elsewhere" || die 'the target of a link was changed'
call node restore --discard
expect_status 0
[ ! -L "$journal/kept" ] || die 'discard left the link'
cmp -s "$tmp/kept" "$tmp/elsewhere" || die 'discard followed a link'

cp "$tmp/kept" "$journal/kept"
mv "$journal" "$tmp/folder"
ln -s "$tmp/folder" "$journal"
untrusted "$journal" 'a link'
rm "$journal"
mv "$tmp/folder" "$journal"
chmod 777 "$journal"
untrusted "$journal" 'writable by others'
chmod 700 "$journal"
call node restore
expect_status 0
same_as "$at_first" 'after journals that were not trusted'
echo 'journals: refused when they cannot be trusted'

# --- the script for admins -----------------------------------------------------------------------
script=$(dirname "$0")/../../scripts/switch-scheduler.sh
for scheduler in $schedulers; do
  BLKSWEEP=$blksweep "$script" "$disk" "$scheduler" >/dev/null 2>&1 || die "switch to $scheduler"
  grep -q "\[$scheduler\]" "$queue/scheduler" || [ "$schedulers" = "$scheduler" ] ||
    die "the script did not switch to $scheduler"
done
BLKSWEEP=$blksweep "$script" --restore >/dev/null 2>&1
same_as "$at_first" 'switch-scheduler.sh --restore'
status=0
BLKSWEEP=$blksweep "$script" >/dev/null 2>&1 || status=$?
expect_status 2

[ "$(writes)" = "$writes_before" ] || die 'something was written to the device'
[ -z "$(ls "$journal")" ] || die 'journals are left'
