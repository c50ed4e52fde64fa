#!/usr/bin/env bash
# replay: a block trace on an emulated disk, a file trace on its files; left out and counted; what
# cannot be replayed is refused, and nothing is written.
# Side by side: on an emulated disk of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

expect() {
  "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))["runs"][0]
c = r["certificate"]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/.out" "$2" || die "$1"
}
header=time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags
trace_of() { # trace_of NAME KIND < lines
  (echo "$header,$2" && cat) >"$tmp/$1.csv"
  call trace import "$tmp/$1.csv" -o "$tmp/$1.trace"
  expect_status 0
}

# --- files ---------------------------------------------------------------------------------------
mkdir -p "$tmp/data/a"
head -c 300000 /dev/urandom >"$tmp/data/a/one"
head -c 5000 /dev/urandom >"$tmp/data/two"
echo secret >"$tmp/secret"
ln -s ../secret "$tmp/data/out"
trace_of files path <<'CSV'
0,read,0,65536,65536,100000,4294967297,pread,,a/one
1000000,read,65536,65536,65536,100000,4294967297,pread,,a/one
2000000,read,0,131072,5000,100000,4294967298,read,,two
3000000,read,5000,131072,0,1000,4294967298,read,,two
4000000,read,0,100,100,1000,4294967298,read,,gone
5000000,read,0,7,7,1000,4294967298,read,,../secret
6000000,read,0,7,7,1000,4294967298,read,,out
7000000,read,900000,7,7,1000,4294967298,read,,two
8000000,write,0,7,7,1000,4294967298,,,two
CSV
for timing in original asap dependent; do
  call replay "$tmp/files.trace" --data "$tmp/data" --timing $timing --buffered --cache keep --json
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "$timing: status $status"
  expect "$timing: requests" 'c["issued"] == 3 and r["samples"] == 3 and c["failed"] == 0'
  expect "$timing: bytes" 'r["bytes"] == 65536 * 2 + 5000'
  expect "$timing: left out" 'c["left_out"] == {"writes": 1, "files that are not there": 1,
    "names that lead out of the folder": 2, "reads beyond the end of a file": 1,
    "reads at the end of a file, which gave nothing": 1}'
done
call replay "$tmp/files.trace" --data "$tmp/data"
if [ "$status" = 0 ] || [ "$status" = 3 ]; then
  grep -q '^verdict' "$tmp/.out" || die 'no verdict'
fi
call replay "$tmp/files.trace" --data "$tmp/data" --buffered --cache keep --timing asap --json
strace=$(command -v strace || true)
if [ -n "$strace" ]; then
  strace -f -o "$tmp/strace" -e trace=open,openat,openat2,creat "$blksweep" -q replay \
    "$tmp/files.trace" --data "$tmp/data" --buffered --cache keep >"$tmp/.text" || true
  ! grep -E "$tmp.*O_(WRONLY|RDWR|CREAT)" "$tmp/strace" || die 'opened for writing'
  ! grep -E '"[^"]*secret", .*= [0-9]' "$tmp/strace" || die 'opened what lies outside'
fi
call replay "$tmp/files.trace" --data "$tmp/data" --timing original --buffered --cache keep --timeline "$tmp/t.json"
[ "$status" = 0 ] || [ "$status" = 3 ] || die "timeline: status $status"
"$python" - "$tmp/t.json" <<'PY' || die 'the timeline has not each request in a slot'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
requests = [e for e in events if e["ph"] == "X"]
lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert [e["name"] for e in requests] == ["read 0", "read 1", "read 2"]
assert [(e["args"]["place"], e["args"]["thread"]) for e in requests] == [("a/one", 1), ("a/one", 1), ("two", 2)]
assert all(lanes[e["tid"]] == f"slot {e['tid']}" and e["dur"] >= 0 for e in requests)
assert all(e["ts"] * 1000 >= e["args"]["due_ns"] for e in requests)
PY
said=$("$blksweep" replay "$tmp/files.trace" --data "$tmp/data" --buffered --cache keep --timeline "$tmp/t.json" 2>&1 >/dev/null || true)
[[ $said == *'timeline: 3 of 3 requests'* ]] || die "what the timeline has: $said"
call replay "$tmp/files.trace" --data "$tmp/data" --timeline "$tmp/none/t.json"
expect_status 1
echo "files: in every timing what can be read is, the rest is counted"

# --- files that have become shorter --------------------------------------------------------------
mkdir "$tmp/cut"
head -c 1000 /dev/urandom >"$tmp/cut/long"
trace_of cut path <<'CSV'
0,read,0,500,500,1000,4294967297,pread,,long
1000000,read,0,8000,8000,1000,4294967297,pread,,long
2000000,read,500,8000,7500,1000,4294967297,pread,,long
3000000,read,0,4096,4096,,4294967297,fault,16,long
CSV
call replay "$tmp/cut.trace" --data "$tmp/cut" --buffered --cache keep --json
expect_status 3
expect 'a shorter file gives what it has' 'c["issued"] == 2'
expect 'nobody is told' 'c["left_out"] == {"reads beyond the end of a file": 2}'
expect 'what to try is said' '"dataset make DIR --like" in c["reasons"][-1]'
expect 'half of the reads are missing' 'c["verdict"] == "unfaithful" and r["samples_per_s"] is None'
"$blksweep" replay "$tmp/cut.trace" --data "$tmp/cut" --buffered --cache keep --repeats 2 >"$tmp/.out" \
  2>"$tmp/.err" && die 'half of the reads are missing, and it is done'
grep -q '2/2\] unfaithful, late p99 [^:]*: .' "$tmp/.err" || die 'why a repeat is unfaithful is not told'
call catalog "$tmp/cut" --trace "$tmp/cut.trace" -o "$tmp/cut.cat"
expect_status 0
grep -q 'samples     2, ' "$tmp/.out" || die 'a shorter file gives shorter samples'
call replay "$tmp/cut.trace" --data "$tmp/cut" --buffered --db "$tmp/cut.db" --timing asap
touch -r "$tmp/cut/long" "$tmp/.then"
head -c 1000 /dev/zero | dd of="$tmp/cut/long" conv=notrunc status=none
touch -r "$tmp/.then" "$tmp/cut/long"
call replay "$tmp/cut.trace" --data "$tmp/cut" --buffered --db "$tmp/cut.db" --timing asap
"$python" -c '
import sqlite3, sys
assert sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM replay").fetchone()[0] == 2' "$tmp/cut.db" ||
  die 'a file that was written anew is taken for the one of the replay before'
truncate -s 1M "$tmp/cut/holes"
trace_of holes path <<<'0,read,0,1048576,1048576,1000,4294967297,pread,,holes'
call replay "$tmp/holes.trace" --data "$tmp/cut" --json
expect 'holes are no reads of a disk' 'r["own_read_bytes"] is None or any("were read from a disk" in w or "is memory" in w for w in r["warnings"])'
call replay "$tmp/holes.trace" --data "$tmp/cut" --speed 1e-6
expect_status 0 3
trace_of ages path <<'CSV'
0,read,0,500,500,1000,4294967297,pread,,long
10800000000000,read,0,500,500,1000,4294967297,pread,,long
CSV
call replay "$tmp/ages.trace" --data "$tmp/cut" --speed 1e-6
expect_status 2
echo "shorter: reads that the file cannot give any more are left out"

# --- on a node without the data ------------------------------------------------------------------
call dataset make "$tmp/like" --like "$tmp/files.trace"
expect_status 1
grep -q "'../secret' is no name" "$tmp/.err" || die 'a name that climbs is not refused'
[ ! -e "$tmp/like" ] || die 'a refused data set left a folder'
grep -v '\.\./secret' "$tmp/files.csv" >"$tmp/tame.csv"
call trace import "$tmp/tame.csv" -o "$tmp/tame.trace"
call dataset make "$tmp/like" --like "$tmp/tame.trace"
expect_status 0
sizes=$(cd "$tmp/like" && find . -type f -printf '%P %s\n' | sort | tr '\n' ' ')
[ "$sizes" = 'a/one 131072 gone 100 out 7 two 900007 ' ] || die "files like the trace: $sizes"
call replay "$tmp/tame.trace" --data "$tmp/like" --buffered --cache keep --timing asap --json
expect 'replayed on it' 'c["issued"] == 6 and c["failed"] == 0 and r["short_reads"] == 0'
call dataset make "$tmp/like" --like "$tmp/tame.trace"
expect_status 1
call dataset make "$tmp/more"
expect_status 2
call dataset make "$tmp/more" --count 3 --like "$tmp/tame.trace"
expect_status 2
printf '%s,path\n0,read,18446744073709551000,100,,,,,,x\n' "$header" >"$tmp/absurd.csv"
call trace import "$tmp/absurd.csv" -o "$tmp/absurd.trace"
if [ "$status" = 0 ]; then
  call dataset make "$tmp/more" --like "$tmp/absurd.trace"
  expect_status 1
fi
echo "like: a trace is replayed on files that were made for it"

# --- the same accesses in another order ----------------------------------------------------------
: >"$tmp/data/empty"
call catalog "$tmp/data" --trace "$tmp/files.trace" -o "$tmp/reads.cat"
expect_status 0
! grep -q 'empty' "$tmp/.out" "$tmp/.err" || die 'a file that nobody read is said to be a sample'
rm "$tmp/data/empty"
call catalog "$tmp/data" --trace "$tmp/files.trace" -o "$tmp/reads.cat"
expect_status 0
grep -q 'samples     3, .* 1 labels' "$tmp/.out" || die 'other samples than reads, or not the label of a/one'
call plan "$tmp/reads.cat" --order recorded --merge none
expect_status 0
call run --catalog "$tmp/reads.cat" --order recorded --merge none,file --buffered --cache keep \
  --verify --no-ceiling --no-probe --json
expect_status 0
"$python" -c '
import json, sys
for run in json.load(open(sys.argv[1]))["runs"]:
    assert run["samples"] == 3 and run["bytes"] == 65536 * 2 + 5000 and run["wrong_samples"] == 0' \
  "$tmp/.out" || die 'the reads of a trace are not the samples of a run'
call catalog "$tmp/like" --trace "$tmp/blocks.trace" -o "$tmp/none.cat"
expect_status 1
echo "run: the reads of a trace as samples"

# --- refused -------------------------------------------------------------------------------------
refused() { # refused STATUS WORDS ARGUMENT...
  local wanted=$1 words=$2
  shift 2
  call replay "$@"
  expect_status "$wanted"
  [ "$(wc -l <"$tmp/.err")" = 1 ] || die "not one line: $*"
  grep -q -- "$words" "$tmp/.err" || die "does not say '$words': $*"
}
trace_of blocks volume <<'CSV'
0,read,0,4096,,,,,,v
1,write,0,4096,,,,,,v
CSV
trace_of writes volume <<<'0,write,0,4096,,,,,,v'
refused 2 'give --device' "$tmp/blocks.trace" --data "$tmp/data"
refused 2 'give --data' "$tmp/files.trace" --device /dev/null
refused 2 'needs thread and latency' "$tmp/blocks.trace" --device /dev/null --timing dependent
refused 2 'is no block device' "$tmp/blocks.trace" --device /dev/null
refused 2 'is no block device' "$tmp/blocks.trace" --device "$tmp/data/two"
refused 1 'No such file' "$tmp/blocks.trace" --device /dev/none
refused 1 'No such file' "$tmp/none.trace" --device /dev/null
refused 1 'No such file' "$tmp/files.trace" --data "$tmp/none"
refused 1 'has no read' "$tmp/writes.trace" --device /dev/null
mkdir "$tmp/empty"
refused 1 'not there.*: dataset make DIR --like' "$tmp/cut.trace" --data "$tmp/empty"
refused 2 'no timing' "$tmp/blocks.trace" --device /dev/null --timing soon
refused 2 'no speed' "$tmp/blocks.trace" --device /dev/null --speed 0
refused 2 'no speed' "$tmp/blocks.trace" --device /dev/null --speed 2x
refused 2 'no speed' "$tmp/blocks.trace" --device /dev/null --speed 0x2
refused 2 'out of range' "$tmp/blocks.trace" --device /dev/null --depth 0
refused 2 'is always read directly' "$tmp/blocks.trace" --device /dev/null --buffered
refused 2 'waits for its time' "$tmp/blocks.trace" --device /dev/null --timing asap --speed 2
refused 2 'of one of both' "$tmp/blocks.trace" --device /dev/null --data "$tmp/data"
refused 2 'to place addresses' "$tmp/blocks.trace" --device /dev/null --addresses far
head -c 40 "$tmp/blocks.trace" >"$tmp/cut.trace"
refused 1 "$tmp/cut.trace" "$tmp/cut.trace" --device /dev/null
echo "refused: a line each"

# --- a device ------------------------------------------------------------------------------------
if [ "$(id -u)" != 0 ]; then
  skip 'the rest needs root for an emulated disk'
fi
stop_disk() { "$blksweep" -q disk stop "replay-$$" || true; }
at_exit stop_disk
call disk start "replay-$$" --model none --size 64MiB --json
expect_status 0
device=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$tmp/.out")
trace_of served path <<<'0,read,0,4096,4096,1000,4294967297,pread,,data'
call replay "$tmp/served.trace" --data "/run/blksweep/disks/replay-$$/io" --cache keep --json
[ "$status" = 0 ] || [ "$status" = 3 ] || die "on FUSE: status $status"
expect 'whose memory it was is not known on FUSE' 'r["own_read_bytes"] is None and any("is not known: /run" in w for w in r["warnings"])'
trace_of poor volume <<'CSV'
0,read,0,100,,,,,,a
1000000,read,0,4096,,,,,,b
CSV
call replay "$tmp/poor.trace" --device "$device" --json
expect 'volumes that overlap' 'any("2 volumes of the trace lie over one another" in w for w in r["warnings"])'
expect 'rounded' 'any("1 of 2 requests were rounded" in w for w in r["warnings"])'
call replay "$tmp/poor.trace" --device "$device" --addresses stack --json
expect 'stacked' 'not any("volumes" in w for w in r["warnings"])'
"$python" - >"$tmp/lines" <<'PY'
import random
random.seed(5)
for i in range(2000):
    volume = random.choice("ab")
    print(f"{i * 100000},{random.choice(['read'] * 9 + ['write'])},{random.randrange(40000) * 4096},"
          f"{random.choice([512, 4096, 65536])},,,,,,{volume}")
PY
trace_of device volume <"$tmp/lines"
reads=$(grep -c ,read, "$tmp/lines")
inside=$(awk -F, '$2 == "read" && $3 + $4 <= 67108864' "$tmp/lines" | wc -l)
disk=${device#/dev/}
sectors() { awk '{ print $1 + $2, $3, $5 }' "/sys/block/$disk/stat"; }
read -r requests_before sectors_before writes_before < <(sectors)
call replay "$tmp/device.trace" --device "$device" --json
[ "$status" = 0 ] || [ "$status" = 3 ] || die "status $status"
read -r requests sectors writes < <(sectors)
expect 'those on the device' "c['issued'] == $inside and c['failed'] == 0"
expect 'beyond the end' "c['left_out']['reads beyond the end of the device'] == $((reads - inside))"
expect 'bytes as the kernel counts' "r['bytes'] == $((sectors - sectors_before)) * 512"
[ $((requests - requests_before)) = "$inside" ] || die 'the kernel counts other requests'
[ "$writes" = "$writes_before" ] || die 'the device was written'
expect 'order' 'c["out_of_order"] == 0'
expect 'time' 'r["epoch_ns"] >= 199 * 10 ** 6'
again() { # again REPEATS ARGUMENT...: the same replay with the database
  call replay "$tmp/device.trace" --device "$device" --timing asap --db "$tmp/replays.db" --repeats "$@"
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "with a database: status $status"
}
rows() { "$python" -c '
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM replay").fetchone()[0])' "$tmp/replays.db"; }
again 1
again 2 --json
expect 'both repeats in the answer' "len(json.load(open('$tmp/.out'))['runs']) == 2"
"$blksweep" replay "$tmp/device.trace" --device "$device" --timing asap --db "$tmp/replays.db" --repeats 2 \
  >"$tmp/.out" 2>"$tmp/.err" || [ $? = 3 ] || die 'the same again fails'
grep -q 'holds all 2 repeats of this replay: nothing was measured; --repeats 3' "$tmp/.err" ||
  die 'how to get more is not said'
[ "$(grep -c "device.trace .* $device " "$tmp/.out")" = 2 ] || die 'what is stored is not in the answer'
[ "$(rows)" = 2 ] || die 'a replay that was done is made again'
call report "$tmp/replays.db" --json
expect_status 0
"$python" -c '
import json, sys
replays = json.load(open(sys.argv[1]))["replays"]
assert [r["replay_id"] for r in replays] == [1, 2]
assert all(r["certificate"]["issued"] == int(sys.argv[2]) for r in replays)' "$tmp/.out" "$inside" ||
  die 'the database does not have the replays'
call report "$tmp/replays.db"
expect_status 0
grep -q "device.trace .* $device *asap, depth " "$tmp/.out" || die 'the report does not name the replay and what it was asked'
call replay "$tmp/device.trace" --device "$device" --db "$tmp"
expect_status 1
[ ! -s "$tmp/.out" ] || die 'a replay whose database cannot be written was begun'
cp "$tmp/device.trace" "$tmp/kept.trace"
head -n 1500 "$tmp/device.csv" >"$tmp/less.csv" && call trace import "$tmp/less.csv" -o "$tmp/device.trace"
again 1
[ "$(rows)" = 3 ] || die 'another trace under the same name is not another replay'
cp "$tmp/kept.trace" "$tmp/device.trace"
again 1 --depth 3
[ "$(rows)" = 4 ] || die 'another depth is not another replay'
echo 77 >"/sys/block/$disk/queue/read_ahead_kb" # of our own disk
again 1
[ "$(rows)" = 5 ] || die 'another queue is not another replay'
again 1
[ "$(rows)" = 5 ] || die 'the same queue is another replay'
long() { "$blksweep" -q replay "$tmp/device.trace" --device "$device" --repeats 4 --db "$tmp/long.db" --json; }
long >"$tmp/.cut" 2>/dev/null &
until [ "$("$python" -c '
import sqlite3, sys
try:
    print(sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT count(*) FROM replay").fetchone()[0])
except sqlite3.Error:
    print(0)' "$tmp/long.db")" != 0 ]; do sleep 0.05; done
pkill -KILL -P $! || true
wait $! || true
long >"$tmp/.out" || true
expect 'a campaign that was killed goes on' "len(json.load(open('$tmp/.out'))['runs']) == 4"
"$python" -c '
import sqlite3, sys
ids = [i for i, in sqlite3.connect(sys.argv[1]).execute("SELECT replay_id FROM replay")]
assert ids == [1, 2, 3, 4], ids' "$tmp/long.db" || die 'repeats are lost or doubled'
call replay "$tmp/device.trace" --device "$device" --json
expect 'the way out of addresses beyond the end' '"--addresses wrap or scale" in c["reasons"][-1]'
for addresses in wrap scale; do
  call replay "$tmp/device.trace" --device "$device" --addresses $addresses --timing asap --json
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "$addresses: status $status"
  expect "$addresses: all" "c['issued'] == $reads"
done
mkdir "$tmp/full"
mount -t tmpfs -o size=64k,mode=0755 tmpfs "$tmp/full"
at_exit "umount '$tmp/full'"
call replay "$tmp/device.trace" --device "$device" --timing asap --db "$tmp/full/new.db"
expect_error 1 "$tmp/full/new.db: disk full"
[ -z "$(ls "$tmp/full")" ] || die "a full disk keeps an empty database: $(ls -l "$tmp/full")"
for repeats in 0 x 99999999999; do
  call replay "$tmp/device.trace" --device "$device" --repeats $repeats
  expect_status 2
done
call replay "$tmp/device.trace" --device "$device" --timing asap --repeats 3
[ "$(grep -c "device.trace .* $device " "$tmp/.out")" = 3 ] || die 'three repeats are not in the table'
call replay "$tmp/device.trace" --device "$device" --speed 4 --json
expect 'four times as fast' '49 * 10 ** 6 <= r["epoch_ns"] < 199 * 10 ** 6'
for second in 1 2 3; do printf '%s,8,8,0,1\n' "$second"; done >"$tmp/seconds.csv"
call trace import "$tmp/seconds.csv" --format tencent -o "$tmp/seconds.trace"
call replay "$tmp/seconds.trace" --device "$device" --speed 100 --json
expect 'a second of the trace is 10 ms of the replay' 'c["bound_ns"] == 10 ** 7'
expect 'and said so' 'any("steps of 10 ms at this speed" in w for w in r["warnings"])'
call replay "$tmp/seconds.trace" --device "$device" --timing asap --json
expect 'the steps of a clock that is not asked hide nothing' 'c["bound_ns"] == 10 ** 6'
if command -v fio >/dev/null; then
  call replay "$tmp/device.trace" --device "$device" --fio-twin --json
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "beside fio: status $status"
  for who in at_driver fio; do # the block layer saw all of them, ours and fio's
    expect "$who" "r['$who']['matched'] == $inside and r['$who']['missing'] + r['$who']['lost'] == 0"
  done
  # Reads that the block layer splits are found by neither: how late they were is not known, and not 0.
  printf '%s\n' time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume {0,50}000000,read,0,16777216,,,,,,v >"$tmp/split.csv"
  call trace import "$tmp/split.csv" -o "$tmp/split.trace"
  call replay "$tmp/split.trace" --device "$device" --fio-twin --json
  for who in at_driver fio; do
    expect "$who, split" "r['$who']['missing'] == 2 and r['$who']['lateness_p50_ns'] is None and r['$who']['lateness_max_ns'] is None"
  done
  call replay "$tmp/device.trace" --device "$device" --fio-twin --timing asap
  expect_status 2
fi
echo "device: $inside reads as the kernel counts them, nothing written"
