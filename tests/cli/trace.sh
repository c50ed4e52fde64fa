#!/usr/bin/env bash
# trace: import from archives, export to tools of others and back, stat; what is damaged is refused.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

expect() {
  "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/.out" "$2" || die "$1"
}
import() {
  call trace import "$@"
  expect_status 0
}
# csv_of TRACE: its records as text
csv_of() {
  call trace export "$1" --format csv -o "$tmp/of.csv"
  expect_status 0
  cat "$tmp/of.csv"
}

for tool in blkparse fio xz; do
  command -v $tool >/dev/null || skip "needs $tool"
done
"$python" - "$tmp/alibaba.csv" <<'PY'
import random, sys
random.seed(1)
t = 1577808144360767
with open(sys.argv[1], "w") as f:
    for _ in range(5000):
        t += random.randrange(2000)
        f.write(f"{random.randrange(3)},{random.choice('RW')},{random.randrange(10**5) * 4096},"
                f"{random.choice([4096, 65536])},{t}\n")
PY
reads=$(grep -c ',R,' "$tmp/alibaba.csv")
read_bytes=$(awk -F, '$2 == "R" { s += $4 } END { printf "%d", s }' "$tmp/alibaba.csv")

# --- archives ------------------------------------------------------------------------------------
import "$tmp/alibaba.csv" -o "$tmp/plain.trace"
csv_of "$tmp/plain.trace" >"$tmp/plain.csv"
head -n 2500 "$tmp/alibaba.csv" >"$tmp/hour0.csv"
tail -n 2500 "$tmp/alibaba.csv" >"$tmp/hour1.csv"
gzip -k "$tmp/alibaba.csv"
xz -k "$tmp/alibaba.csv"
tar -czf "$tmp/hours.tgz" -C "$tmp" hour0.csv hour1.csv
archives=("$tmp/alibaba.csv.gz" "$tmp/alibaba.csv.xz" "$tmp/hours.tgz")
if command -v zstd >/dev/null; then
  zstd -q "$tmp/alibaba.csv"
  archives+=("$tmp/alibaba.csv.zst")
fi
for archive in "${archives[@]}"; do
  import "$archive" -o "$tmp/archive.trace"
  csv_of "$tmp/archive.trace" | cmp - "$tmp/plain.csv" || die "$archive differs"
done
echo "archives: ${#archives[@]} kinds give the same records"

# --- stat ----------------------------------------------------------------------------------------
call trace stat "$tmp/plain.trace" --json
expect_status 0
expect 'stat counts' "(d['kind'], d['requests'], d['reads'], d['volumes']) == ('block', 5000, $reads, 3)"
expect 'stat bytes' "d['read_bytes'] == $read_bytes and d['timing'] == 'measured' and d['lost'] == 0"
expect 'unknown is null' 'd["files"] is None and d["threads"] is None and d["latency_ns"] is None'
expect 'a curve falls' '(lambda m: m == sorted(m, reverse=True))([p["miss_ratio"] for p in d["miss_ratio_curve"]])'
expect 'rate adds up' 'sum(d["rate"]["requests"]) == 5000'
call trace stat "$tmp/plain.trace"
expect_status 0
[[ $out == *'LRU cache'* ]] || die 'no miss ratios'
cat >"$tmp/empty.csv" <<'CSV'
time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path
0,read,0,4097,4096,100,1,read,0,a
200,read,4096,1,0,100,1,read,0,a
CSV
import "$tmp/empty.csv" -o "$tmp/empty.trace"
call trace stat "$tmp/empty.trace"
[[ $out == *'empty         1 of them moved nothing, as at the end of a file'* ]] || die 'reads of nothing are not told'
[[ $out == *'p50 4 KiB, p90 4 KiB'*'sequential    0.00 of'* ]] || die 'reads of nothing count as reads'
call trace stat "$tmp/empty.trace" --json
expect 'empty reads' 'd["empty"] == 1 and d["requests"] == 2'
echo 'stat: as counted by hand'

# --- tools of others read what we export ---------------------------------------------------------
call trace export "$tmp/plain.trace" --format blktrace -o "$tmp/sda.blktrace.0"
expect_status 0
(cd "$tmp" && blkparse -i sda -o sda.txt) >/dev/null
counted=$(awk '/Reads Queued:/ { gsub(",", "", $3); print $3 }' "$tmp/sda.txt" | head -n 1)
[ "$counted" = "$reads" ] || die "blkparse counts $counted reads, not $reads"
import "$tmp/sda.txt" -o "$tmp/again.trace"
csv_of "$tmp/again.trace" | cut -d, -f1-9 | cmp - <(cut -d, -f1-9 "$tmp/plain.csv" |
  awk -F, -v OFS=, 'NR > 1 { $7 = 0 } 1') || die "blkparse's text differs"
(cd "$tmp" && blkparse -i sda -d sda.bin -O >/dev/null && btt -i sda.bin) >"$tmp/btt" 2>/dev/null
grep -q '^Q2Q .* 4999 *$' "$tmp/btt" || die "btt counts other requests: $(grep Q2Q "$tmp/btt")"
echo 'blkparse and btt: the same requests'
import "$tmp/sda.blktrace.0" -o "$tmp/again.trace"
csv_of "$tmp/again.trace" | cut -d, -f1-9 | cmp - <(cut -d, -f1-9 "$tmp/plain.csv") || die 'blktrace differs'
call trace export "$tmp/plain.trace" --format iolog -o "$tmp/log"
expect_status 0
[[ $out == *"written     $tmp/log"* ]] || die 'it does not say where to'
import "$tmp/log" -o "$tmp/again.trace"
csv_of "$tmp/again.trace" | tail -n +2 | cmp - <(tail -n +2 "$tmp/plain.csv") || die 'the iolog differs'
truncate -s 1G "$tmp/target"
fio --name=replay --read_iolog="$tmp/log" --replay_redirect="$tmp/target" --replay_no_stall=1 \
    --ioengine=psync --output-format=json --output="$tmp/fio.json" >/dev/null 2>&1 || die 'fio refuses the iolog'
"$python" - "$tmp/fio.json" "$reads" <<'PY' || die 'fio replays other requests'
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
sys.exit(0 if job["read"]["total_ios"] == int(sys.argv[2]) and
         job["write"]["total_ios"] == 5000 - int(sys.argv[2]) else 1)
PY
# Of files what moved: a read beyond the end of one fio takes for an error, and ends.
head -c 5000 /dev/urandom >"$tmp/short"
cat >"$tmp/files.csv" <<'CSV'
time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path
0,read,0,131072,5000,,1,read,0,short
1000,read,5000,131072,0,,1,read,0,short
2000,read,4096,512,,,1,pread,0,short
CSV
import "$tmp/files.csv" -o "$tmp/files.trace"
call trace export "$tmp/files.trace" --format iolog -o "$tmp/files.log"
expect_status 0
(cd "$tmp" && fio --name=replay --readonly --read_iolog=files.log --replay_no_stall=1 --ioengine=psync \
  --output-format=json --output=fio.json >/dev/null 2>&1) || die 'fio stops at the end of a file'
"$python" -c 'import json, sys
read = json.load(open(sys.argv[1]))["jobs"][0]["read"]
sys.exit((read["total_ios"], read["io_bytes"]) != (2, 5512))' "$tmp/fio.json" || die 'fio reads other bytes of files'
echo 'fio: replays the same requests'

# --- damaged, foreign and absurd -----------------------------------------------------------------
bytes=$(stat -c %s "$tmp/plain.trace")
for cut in 0 7 31 200 $((bytes / 2)); do
  head -c "$cut" "$tmp/plain.trace" >"$tmp/cut.trace"
  call trace stat "$tmp/cut.trace"
  if [ "$status" != 3 ]; then  # of a prefix with a whole head: told, with what is there
    expect_error 1 cut.trace
  fi
done
cp "$tmp/plain.trace" "$tmp/flip.trace"
printf '\377' | dd of="$tmp/flip.trace" bs=1 seek=5000 conv=notrunc status=none
call trace stat "$tmp/flip.trace"
expect_error 1 flip.trace block
printf 'BLKSWTRC\2' | cat - <(tail -c +10 "$tmp/plain.trace") >"$tmp/version.trace"
call trace stat "$tmp/version.trace"
expect_error 1 version.trace
for verb in stat "export --format csv -o $tmp/none"; do
  # shellcheck disable=SC2086
  call trace $verb "$tmp/alibaba.csv"
  expect_error 1 alibaba.csv 'trace import'
  # shellcheck disable=SC2086
  call trace $verb "$tmp"
  expect_error 1 "$tmp"
done
mkfifo "$tmp/fifo"
call trace import "$tmp/fifo" -o "$tmp/none"
expect_error 1 fifo
head -c 100 "$tmp/alibaba.csv.gz" >"$tmp/cut.gz"
call trace import "$tmp/cut.gz" -o "$tmp/none"
expect_error 1 cut.gz
head -c 65536 /dev/urandom >"$tmp/noise"
call trace import "$tmp/noise" -o "$tmp/none"
expect_error 2 noise --format
for format in csv iolog blktrace blkparse msr alibaba tencent systor spc fiu vscsi hfplayer disksim darshan recorder \
  dftracer; do
  call trace import "$tmp/noise" --format "$format" --time-unit us -o "$tmp/none"
  expect_error 1 noise
done
call trace import "$tmp/alibaba.csv" --format alibab -o "$tmp/none"
expect_error 2 alibab
call trace import "$tmp/alibaba.csv" --time-unit h -o "$tmp/none"
expect_error 2 --time-unit
call trace export "$tmp/plain.trace" --format pcap -o "$tmp/none"
expect_error 2 pcap
[ ! -e "$tmp/none" ] || die 'something was written'
echo 'bad input: refused, nothing written'

# --- what is passed over is counted and told ---------------------------------------------------------
sed '7s/.*/not a line/' "$tmp/alibaba.csv" >"$tmp/bad.csv"
call trace import "$tmp/bad.csv" --format alibaba -o "$tmp/bad.trace"
expect_error 1 'bad.csv:7:'
import "$tmp/bad.csv" --skip-bad 1 -o "$tmp/bad.trace"
call trace stat "$tmp/bad.trace" --json
expect 'skipped' 'd["skipped"] == 1 and d["requests"] == 4999'
echo 'bad lines: named, or counted'

# --- stat for the report -------------------------------------------------------------------------
(echo 'time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume' &&
  awk 'BEGIN { for (i = 0; i < 3000; i++) printf "%d,%s,%d,4096,,200000,,,,v\n", i * 100000, i % 3 ? "read" : "write", i % 500 * 4096 }') \
  >"$tmp/kept.csv"
call trace import "$tmp/kept.csv" -o "$tmp/kept.trace"
expect_status 0
call trace stat "$tmp/kept.trace" --db "$tmp/kept.db"
expect_status 0
call report "$tmp/kept.db" --json
expect_status 0
"$python" -c '
import json, sqlite3, sys
one, = json.load(open(sys.argv[1]))["traces"]
assert one["requests"] == 3000 and one["trace"] == sys.argv[2], one
db = sqlite3.connect(sys.argv[3])
accesses = db.execute("SELECT time_ns, address, op FROM trace_access ORDER BY time_ns").fetchall()
wanted = [(i * 100000, i % 500 * 4096.0, "read" if i % 3 else "write") for i in range(3000)]
assert accesses == wanted
depth = [y for y, in db.execute("SELECT y FROM trace_curve WHERE kind = ? ORDER BY x", ["depth"])]
assert all(abs(y - 2) < 0.01 for y in depth[2:]), depth
rate = [y for y, in db.execute("SELECT y FROM trace_curve WHERE kind = ?", ["rate"])]
assert all(y == 10000 for y in rate), rate' \
  "$tmp/.out" "$tmp/kept.trace" "$tmp/kept.db" || die 'the database does not have the trace'
call trace stat "$tmp/kept.trace" --db "$tmp/none/kept.db"
expect_status 1
echo "stat: kept for the report as it is"
