#!/usr/bin/env bash
# A stop while a consumer or a copy takes its time ends the run at once and keeps what was consumed; a
# later start measures that run again and no other. A stage that cannot be had refuses the sweep.
# Side by side: counts of its own process; it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

query() { "$python" -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())' "$@"; }
runs() { query "$1" "SELECT count(*) FROM run WHERE $2"; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# 90 small samples and a large one: with batches of 30 the last batch is that one alone.
data=$tmp/data
mkdir "$data"
for i in $(seq -w 90); do
  head -c 4096 /dev/urandom >"$data/f$i"
done
head -c 64M /dev/zero >"$data/last"
bytes=$((90 * 4096 + (64 << 20)))
common=(run --data "$data" --order path --engine psync --buffered --batch 30 --no-probe --no-ceiling --json)

# stop_in_last_batch SIGNAL DB OPTION...: stops a run once it has read everything ($passes times), when its
# last batch is on its way for minutes and at least one is consumed; says how long the end took.
stop_in_last_batch() {
  local signal=$1 db=$2 pid begin
  shift 2
  "$blksweep" --quiet "${common[@]}" --db "$db" "$@" >"$tmp/.out" 2>"$tmp/.err" &
  pid=$!
  for _ in $(seq "${patience:-3000}"); do
    [ "$(awk '/^rchar/ { print $2 }' "/proc/$pid/io" 2>/dev/null || echo 0)" -lt $((bytes * ${passes:-1})) ] || break
    sleep 0.02
  done
  begin=$(milliseconds)
  kill -"$signal" "$pid" 2>/dev/null || true
  status=0
  for _ in $(seq 6000); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.01
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || status=$?
  echo "SIG$signal: exit $status after $(($(milliseconds) - begin)) ms"
  [ "$status" = 130 ] || die "SIG$signal: wanted 130"
}

# kept DB: its one interrupted run has whole batches, their account, and nothing wrong.
kept() {
  read -r samples bad batches lanes reason < <(query "$1" "SELECT samples, wrong_samples,
    (SELECT count(*) FROM batch b WHERE b.run_id = r.run_id),
    (SELECT count(*) FROM account_lane a WHERE a.run_id = r.run_id), incomplete_reason
    FROM run r WHERE incomplete = 1")
  [[ $reason == interrupted* && $bad = 0 && $lanes -gt 0 ]] || die "$1: $bad wrong, $lanes lanes, '$reason'"
  ((samples >= 30 && samples <= 90 && samples == batches * 30)) || die "$1: $samples samples in $batches batches"
  echo "$(basename "$1"): $samples samples kept of a run that is listed as '$reason'"
}

# --- a consumer that is slower than the reader for minutes, with each signal that stops -------
slow='1:600s/30:1ms'
for signal in INT TERM HUP; do
  stop_in_last_batch "$signal" "$tmp/consumer.$signal.db" --compute "$slow" --verify
  kept "$tmp/consumer.$signal.db"
done
call report "$tmp/consumer.INT.db" --json
expect_status 0 3
[[ $out == *interrupted* ]] || die 'the report does not say that the run was interrupted'

# --- copies in flight: 64 MiB at 200 kB/s, behind batches of 120 kB ----------------------------
stop_in_last_batch INT "$tmp/copy.db" --copy emulated --copy-bandwidth 200kB/s --copy-streams 2 --verify
kept "$tmp/copy.db"

# --- 1 B/s: no batch arrives, so there is no run to keep ------------------------------------------
stop_in_last_batch INT "$tmp/never.db" --copy emulated --copy-bandwidth 1B/s --prefetch 8
[ "$(runs "$tmp/never.db" 1)" = 0 ] || die 'a run without a sample was stored'

# --- the same command goes on: what was finished stays, what was cut off is measured again ------------
sweep=(--compute "1ms,$slow" --seed 2)
# Which cell comes first is drawn anew in every session: until it is the fast one.
for _ in $(seq 30); do
  rm -f "$tmp/sweep.db"*
  patience=100 passes=2 stop_in_last_batch INT "$tmp/sweep.db" "${sweep[@]}"
  [ "$(runs "$tmp/sweep.db" 'incomplete = 0')" = 0 ] || break
done
[ "$(runs "$tmp/sweep.db" 'incomplete = 0') $(runs "$tmp/sweep.db" 'incomplete = 1')" = '1 1' ] ||
  die 'not one run finished and one cut off'
stop_in_last_batch INT "$tmp/sweep.db" "${sweep[@]}"
[ "$(runs "$tmp/sweep.db" 'incomplete = 0') $(runs "$tmp/sweep.db" 'incomplete = 1')" = '1 2' ] ||
  die 'going on repeats a finished run, or not the one that was cut off'
echo 'going on: the run that was cut off, and no other'

# --- a GPU that this node does not have: said before anything is measured -------------------------------
call "${common[@]}" --db "$tmp/gpu.db" --copy emulated,cuda --device-index 99 --compute 1ms
expect_error 77
[ ! -e "$tmp/gpu.db" ] || die 'a sweep began that cannot end'
echo "no such GPU: $err"
