#!/usr/bin/env bash
# How late a replay is, and whether its response times are those of the same requests from fio.
#
# Lateness: Poisson arrivals on an emulated disk without delay, 20,000 and 100,000 a second.
# Response: fio issues Poisson arrivals while `trace record` listens; the trace is replayed at those times
#           while it listens again; both latencies are the block layer's. In turn, medians of REPEATS. In each
#           round fio issues them a second time, before or after the replay: what fio's own response times
#           are from one time to the next, within which nobody can be told from fio.
#
#   REPEATS=5   MODELS='none nvme sata-ssd file'   RATES=4000   LATENESS=no
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for emulated disks'
repeats=${REPEATS:-5}
disk=replay-bench-$$
recorder=
device=
model=  # of the disk that there is
stop_disk() {
  case $model in
    '') ;;
    file) losetup -d "$device" || true ;;
    *) "$blksweep" -q disk stop "$disk" || true ;;  # its device is a loop device, too
  esac
  model=
}
leave() {
  [ -z "$recorder" ] || kill "$recorder" || true
  stop_disk
}
at_exit leave
start_disk() { # MODEL: sets device; all of it is written, so that nothing is a hole
  if [ "$1" = file ]; then # of this machine's own disk, which does not need these CPUs to answer
    dd if=/dev/urandom of="$tmp/image" bs=1M count=256 conv=fsync status=none
    device=$(losetup --find --show --direct-io=on "$tmp/image")
    model=$1
    return
  fi
  "$blksweep" -q disk start "$disk" --model none --size 256MiB --json >"$tmp/disk.json"
  model=$1
  device=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$tmp/disk.json")
  dd if=/dev/urandom of="$device" bs=1M count=256 oflag=direct status=none
  "$blksweep" -q disk set "$disk" --model "$1"
}
poisson() { # RATE SECONDS TRACE
  "$python" - "$1" "$2" >"$tmp/poisson.csv" <<'PY'
import random, sys
rate, seconds = map(float, sys.argv[1:])
random.seed(7)
print("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume")
time = random.expovariate(rate)
while time < seconds:
    print(f"{time * 1e9:.0f},read,{random.randrange(65536) * 4096},4096,,,,,,v")
    time += random.expovariate(rate)
PY
  "$blksweep" -q trace import "$tmp/poisson.csv" -o "$3"
}
replay() { # TRACE [OPTION...]; an unfaithful one is a result, too
  local status=0
  "$blksweep" -q replay "$1" --device "$device" --json "${@:2}" >"$tmp/replay.json" 2>"$tmp/err" || status=$?
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "replay: $(cat "$tmp/err")"
}
lateness() { # NAME TRACE [OPTION...]
  local i
  : >"$tmp/rows"
  for ((i = 0; i < repeats; i++)); do
    replay "${@:2}"
    cat "$tmp/replay.json" >>"$tmp/rows"
  done
  "$python" - "$1" "$tmp/rows" <<'PY'
import collections, json, statistics, sys
decoder, text, rows = json.JSONDecoder(), open(sys.argv[2]).read().lstrip(), []
while text:
    document, end = decoder.raw_decode(text)
    rows.append(document["runs"][0]["certificate"])
    text = text[end:].lstrip()
middle = lambda key: statistics.median(c[key] for c in rows) / 1e3
print(f"   {sys.argv[1]}: tool late p50 {middle('tool_lateness_p50_ns'):.2f} us, p99 {middle('tool_lateness_p99_ns'):.1f}, "
      f"p99.9 {middle('tool_lateness_p999_ns'):.0f}; {dict(collections.Counter(c['verdict'] for c in rows))}")
PY
}
listen() { # TRACE COMMAND...: what the disk carries out meanwhile
  "$blksweep" -q trace record --device "$device" -o "$1" 2>"$tmp/listen" &
  recorder=$!
  sleep 1.5 # it says nothing when it listens
  "${@:2}"
  sleep 0.2
  kill -INT "$recorder"
  wait "$recorder" || true
  recorder=
}
by_fio() {
  fio --name=poisson --filename="$device" --readonly --rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=64 \
    --rate_iops="$1" --rate_process=poisson --number_ios=20000 --randseed=5 --output=/dev/null
}
response() { # MODEL RATE [OPTION...]
  local i who
  for ((i = 0; i < repeats; i++)); do
    rm -f "$tmp"/{fio,ours,again}.trace
    listen "$tmp/fio.trace" by_fio "$2"
    [ $((i % 2)) = 0 ] || listen "$tmp/again.trace" by_fio "$2"
    listen "$tmp/ours.trace" replay "$tmp/fio.trace" "${@:3}"
    [ $((i % 2)) = 1 ] || listen "$tmp/again.trace" by_fio "$2"
    for who in fio ours again; do
      "$blksweep" -q trace export "$tmp/$who.trace" --format csv -o "$tmp/$who-$i.csv" >"$tmp/exported"
    done
    cp "$tmp/replay.json" "$tmp/replay-$i.json"
  done
  "$python" - "$1 at $2/s${3:+, ${*:3}}" "$tmp" "$repeats" <<'PY'
import collections, csv, json, statistics, sys
name, folder, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
def latencies(path):
    return sorted(int(r["latency_ns"]) for r in csv.DictReader(open(path)) if r["op"] == "read" and r["latency_ns"])
def beside_fio(who):
    ratios = collections.defaultdict(list)
    for i in range(repeats):
        fio, theirs = latencies(f"{folder}/fio-{i}.csv"), latencies(f"{folder}/{who}-{i}.csv")
        if len(fio) != len(theirs):
            print(f"   {name}: {len(fio)} requests of fio, {len(theirs)} of {who}")
        ratios["mean"].append(statistics.fmean(theirs) / statistics.fmean(fio))
        for share in (50, 90, 99):
            ratios[f"p{share}"].append(theirs[len(theirs) * share // 100] / fio[len(fio) * share // 100])
    return ", ".join(f"{k} {statistics.median(v):.3f} ({min(v):.2f} to {max(v):.2f})" for k, v in ratios.items())
verdicts = collections.Counter(
    json.load(open(f"{folder}/replay-{i}.json"))["runs"][0]["certificate"]["verdict"] for i in range(repeats))
print(f"   {name}: response replayed / fio's: {beside_fio('ours')}; {dict(verdicts)}")
print(f"   {name}: fio's a second time / fio's: {beside_fio('again')}")
PY
}

if [ "${LATENESS:-yes}" = yes ]; then
  start_disk none
  poisson 20000 5 "$tmp/20k.trace"
  poisson 100000 1 "$tmp/100k.trace"
  lateness '20,000/s' "$tmp/20k.trace"
  lateness '20,000/s, --awake' "$tmp/20k.trace" --awake
  lateness '100,000/s' "$tmp/100k.trace"
  lateness '100,000/s, --awake' "$tmp/100k.trace" --awake
  stop_disk
fi
for of in ${MODELS-none nvme sata-ssd file}; do
  start_disk "$of"
  for rate in ${RATES:-4000}; do
    response "$of" "$rate"
    response "$of" "$rate" --spin 60us
  done
  stop_disk
done
