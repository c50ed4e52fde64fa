#!/usr/bin/env bash
# A replay beside others on the same disk says so, and is in no figure; our own reads and writes are
# never taken for others'.
# Side by side: on a disk of its own, with neighbours of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'an emulated disk needs root'
expect() {
  "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))["runs"][-1]
c = r["certificate"]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/.out" "$2" || die "$1: $(grep -o '"[a-z_]*shared.*\|"others.*\|"verdict.*' "$tmp/.out")"
}
stop_disk() { "$blksweep" -q disk stop "shared-$$" || true; }
at_exit stop_disk
call disk start "shared-$$" --model none --size 64MiB --json
expect_status 0
device=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$tmp/.out")
"$python" - >"$tmp/mixed.csv" <<'PY'
print("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume")
for i in range(600):
    print(f"{i * 1000000},{'write' if i % 3 == 0 else 'read'},{i % 1000 * 65536},65536,,,,,,v")
PY
call trace import "$tmp/mixed.csv" -o "$tmp/mixed.trace"
expect_status 0

replayed() { # replayed REPEATS ARGUMENT...: the status is the verdict's, which is not asked here
  call replay "$tmp/mixed.trace" --device "$device" --db "$tmp/replays.db" --json --repeats "$@"
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "status $status"
}
replayed 1
expect 'alone' 'r["shared"] is None and r["others_read_bytes"] < 2 ** 20 and r["others_written_bytes"] == 0'
replayed 1 --writes "$device"
expect 'alone, with writes' 'r["shared"] is None and r["writes"] == 200 and r["others_written_bytes"] < 2 ** 20'
echo 'alone: nobody else'

# beside OPERATION REPEATS: a neighbour that is at work from before the replay until after it
beside() {
  rm -f "$tmp/enough" "$tmp/begun"
  "$python" - "$device" "$1" "$tmp/begun" "$tmp/enough" <<'PY' &
import mmap, os, sys, time
device, operation, begun, enough = sys.argv[1:]
fd = os.open(device, os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, 65536)
at = 0
while not os.path.exists(enough):
    os.preadv(fd, [page], at) if operation == "read" else os.pwrite(fd, page, at)
    at = (at + 65536) % (32 << 20)
    if not os.path.exists(begun):
        open(begun, "w").close()
    time.sleep(0.001)
PY
  neighbour=$!
  until [ -e "$tmp/begun" ]; do sleep 0.05; done
  replayed "$2"
  touch "$tmp/enough"
  wait "$neighbour"
}
beside read 2
expect 'a reader' '"others read" in r["shared"] and r["shared"] in r["warnings"] and r["others_read_bytes"] > 2 ** 20'
beside write 3
expect 'a writer' '"were written to" in r["shared"] and r["others_written_bytes"] > 2 ** 20'
expect 'held back, by whom' 'c["verdict"] != "held_back" or r["shared"] in c["reasons"]'
call report "$tmp/replays.db"
expect_status 0
[ "$(grep -c '(shared disk)' "$tmp/.out")" = 2 ] || die 'the report does not mark the two'
echo 'a reader, a writer: told, marked'

# --- the disk answers as another one from the middle on: no figure is of both ----------------------
rows() { sqlite3 -readonly "$tmp/changed.db" "SELECT $1 FROM replay" 2>/dev/null || true; }
(
  until [ "$(rows 'count(*)')" = 1 ]; do sleep 0.02; done
  "$blksweep" -q disk set "shared-$$" --model sata-ssd
) &
change=$!
call replay "$tmp/mixed.trace" --device "$device" --db "$tmp/changed.db" --repeats 4
wait "$change"
expect_status 1
[[ $err == *'what the disk stands on changed'*'emulated none x1'*'emulated sata-ssd x1'*'begins anew'* ]] || die "changed: $err"
[ "$(rows "group_concat(reason LIKE '%stands on changed%', '')")" = 01 ] ||
  die "changed: $(rows 'replay_id, verdict, reason')"
[ "$(rows 'verdict' | tail -n 1)" = unfaithful ] || die 'changed, and called true'
"$blksweep" -q disk set "shared-$$" --model none
echo 'another model in the middle: ended, and not called true'

# --- and back again: both ends are alike, and yet the figure is of both -------------------------------
paced_trace 400 4096 "$tmp/long.trace" # 4 s: both changes fall into it on a busy machine, too
(
  until [ -s "$tmp/begun.db" ]; do sleep 0.02; done
  sleep 0.2
  "$blksweep" -q disk set "shared-$$" --speedup 3
  "$blksweep" -q disk set "shared-$$" --speedup 1
) &
change=$!
call replay "$tmp/long.trace" --device "$device" --db "$tmp/begun.db" --repeats 2
wait "$change"
expect_status 1
[[ $err == *"was set meanwhile ('blksweep disk set shared-$$', 2 times)"* ]] || die "changed and changed back: $err"
echo 'another model for some time: ended, and not called true'
