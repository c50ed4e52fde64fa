#!/usr/bin/env bash
# probe --live: its numbers are those of /sys/block/*/stat in each interval, on the screen and as JSON;
# the screen fits, and the terminal is whole however the view ends.
# Side by side: counts of a disk of its own; waits most of the time.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for BPF and a loop device'
truncate -s 64M "$tmp/image"
loop=$(losetup --direct-io=on --find --show "$tmp/image") || skip 'no loop device'
at_exit "losetup --detach $loop"
call probe "$loop" --seconds 1 --json
[ "$status" != 77 ] || skip "$(cat "$tmp/.err")"
expect_status 0
watch=$(realpath "$(dirname "$0")/../support/watch_screen.py")

# 6000 reads of 4 KiB, one by one: while the view is on, over more than one interval.
reads=6000
read_slowly() {
  local i
  for i in 1 2 3 4; do
    dd if="$loop" of=/dev/null bs=4k count=$((reads / 4)) skip=$((i * 2000)) iflag=direct status=none
    sleep 0.3
  done
}

# --- JSON lines ----------------------------------------------------------------------------------
"$blksweep" --quiet probe "$loop" --live --json --interval 250ms >"$tmp/lines" &
pid=$!
until [ -s "$tmp/lines" ]; do sleep 0.05; done
read_slowly
kill -INT "$pid"
wait "$pid" || die "the view ended with $?"
"$python" - "$tmp/lines" "$reads" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
reads, intervals, summary = int(sys.argv[2]), [l["interval"] for l in lines[:-1]], lines[-1]["summary"]
def check(truth, what):
    if not truth:
        sys.exit(f"FAILED: {what}: {[(i['requests'], i['stat_reads']) for i in intervals]}")
check(len(intervals) >= 4, "a line an interval")
# An interval that ends between two bursts: then both are looked at in the same state. One that ends within a burst has reads
# between the look at the probe and the one at the kernel's counts.
seen = kernel = seen_bytes = kernel_bytes = idle = 0
for i in intervals:
    seen, kernel = seen + i["requests"], kernel + i["stat_reads"]
    seen_bytes, kernel_bytes = seen_bytes + i["bytes"], kernel_bytes + i["stat_read_bytes"]
    if kernel % (reads // 4) == 0:
        idle += 1
        check(abs(seen - kernel) <= 1, "requests as the kernel counts them, but for the one in flight")
        check(abs(seen_bytes - kernel_bytes) <= 4096, "bytes as the kernel counts them")
check(idle >= 4, "intervals that end between bursts")
for i in intervals:
    check(abs(sum(n for _, n in i["latency_ns"]) - i["requests"]) <= 1, "each request is in the histogram")
    check(i["lost_events"] == 0, "nothing lost")
    check(i["requests"] == 0 or i["programs_ns"] > 0, "what the programs cost")
check(sum(i["requests"] for i in intervals) == sum(i["stat_reads"] for i in intervals) == reads == summary["requests"],
      "all that was read")
check(all(a["end_ns"] == b["begin_ns"] for a, b in zip(intervals, intervals[1:])), "no time between intervals")
check(max(i["driver_depth"] for i in intervals) <= 1.01, "depth of one reader")
PY
echo "JSON lines: each interval is that of /sys/block/*/stat"

# --- the screen ----------------------------------------------------------------------------------
cat >"$tmp/judge.py" <<'PY'
import json, sys
size, action, status, answer = sys.argv[1:]
doc, (columns, rows) = json.loads(answer), map(int, size.split("x"))
def check(truth, what):
    if not truth:
        sys.exit("\n".join([f"{size} {action}: {what}", str(doc["status"]), str(doc["whole"]), *doc["screens"][-1], doc["after"]]))
check(doc["status"] == int(status), "exit status")
check(all(doc["whole"].values()), "the terminal is not whole")
check(len(doc["screens"]) >= 3, "no screens")
for screen in doc["screens"][:3]:
    check(len(screen) <= rows and all(len(line) <= columns for line in screen), "does not fit")
shown = "\n".join(doc["screens"][2])
for word in ("reads ", "driver ", "scheduler ", "merges ", "p99.9", "size of reads", "in /sys/block", "losses ", "cost "):
    check(word in shown, f"does not show '{word}'")
if action.startswith("resize"):
    check(max(map(len, doc["screens"][-1])) > 150 and "depth that a read found" in "\n".join(doc["screens"][-1]),
          "is not drawn for its new size")
check(doc["given_back"] == (2 if action == "key:^Z" else 1), "the terminal is given back at each stop")
PY
on_screen() { # on_screen SIZE ACTION STATUS ARGUMENT...
  local answer size=$1 action=$2 wanted=$3
  shift 3
  answer=$("$python" "$watch" "$size" "$action" "$blksweep" --quiet probe "$loop" --live --interval 100ms "$@")
  "$python" "$tmp/judge.py" "$size" "$action" "$wanted" "$answer"
}
endings=()
on_screen 80x24 wait 0 --seconds 1 & endings+=($!)
on_screen 80x24 key:q 0 & endings+=($!)
on_screen 80x24 key:^C 0 & endings+=($!)
on_screen 80x24 key:^C 130 --seconds 60 & endings+=($!)
on_screen 80x24 key:^Z 0 & endings+=($!)
on_screen 80x24 signal:TERM 0 & endings+=($!)
on_screen 80x24 resize:200x50 0 & endings+=($!)
on_screen 200x50 key:q 0 & endings+=($!)
for pid in "${endings[@]}"; do
  wait "$pid" || die "on a screen"
done
echo "screen: fits, and leaves the terminal as it was"

# --- no terminal ---------------------------------------------------------------------------------
call probe "$loop" --live --seconds 1 --interval 300ms
expect_status 0
grep -q 'reads/s' <<<"$out" || die 'no lines where there is no terminal'
! grep -q $'\033' <<<"$out" || die 'a pipe got sequences of a terminal'
[ "$(grep -c '^ *[01]\.[0-9] ' <<<"$out")" -ge 3 ] || die 'not a line an interval'
echo "no terminal: plain lines"

# --- begun and ended while a slow disk has all that it takes --------------------------------------
# Requests there stay for longer than an interval: one that knows those that ended only is far off.
command -v fio >/dev/null || exit 0
need_disks
call disk start "$disk" --model none --size 64MiB
expect_status 0
call disk set "$disk" --model hdd-7200
expect_status 0
slow=/dev/$(basename "$(grep -ls "/disks/$disk/" /sys/block/loop*/loop/backing_file | cut -d / -f 4)")
fio --name=slow --filename="$slow" --direct=1 --ioengine=libaio --iodepth=32 --rw=randread --bs=4k --time_based \
  --runtime=60 --size=60M >"$tmp/fio" 2>&1 &
reader=$!
end_at_exit "$reader"
for ((i = 0; $(inflight "$slow") < 24; i++)); do
  [ "$i" -lt 600 ] || die "no requests at the disk in half a minute: $(tail -n 3 "$tmp/fio")"
  sleep 0.05
done
watch_slow() {
  "$blksweep" --quiet probe "$slow" --seconds 2 --interval 100ms --json >"$tmp/slow.json" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    inflight "$slow"
    sleep 0.02
  done >"$tmp/depths"
  wait "$pid" || die "the probe ended with $?"
}
# Where it was not told of completions (docs/kernel-notes.md) it says so, and may not know the depth: it is watched again.
healed() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"]["healed"])' "$tmp/slow.json"; }
watch_slow
for ((again = 0; again < 5 && $(healed) > 0; again++)); do
  watch_slow
done
kill "$reader"
wait "$reader" || true
"$python" - "$tmp/slow.json" "$tmp/depths" <<'PY'
import json, sys
seen = json.load(open(sys.argv[1]))
depths = [int(line) for line in open(sys.argv[2])]
true = sum(depths) / len(depths)
known = [i["depth_mean"] for i in seen["intervals"] if i["depth_mean"] is not None]
print(f"a slow disk had {true:.1f} requests; depth {seen['summary']['depth_mean']:.1f}, of intervals {min(known):.1f} to {max(known):.1f}")
assert abs(seen["summary"]["depth_mean"] - true) < 0.15 * true, (seen["summary"]["depth_mean"], true)
assert max(known) < 1.1 * max(depths + [32]), (known, depths)
PY
call disk stop "$disk"
expect_status 0
