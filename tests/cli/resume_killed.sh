#!/usr/bin/env bash
# A sweep over schedulers that was killed goes on in the same experiment, although it left its scheduler
# behind; and an experiment without a run hides none that has some.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 128MiB
queue=/sys/block/${loopfs_device#/dev/}/queue
echo none >"$queue/scheduler"
make_data "$tmp/disk/data" 200
make_catalog "$tmp/disk/data" "$tmp/data.cat"
db=$tmp/results.db
ask() { sqlite3 "$db" "$1"; }
sweep=(run --catalog "$tmp/data.cat" --scheduler mq-deadline --read-ahead 64KiB --buffered --cache warm
  --compute 20ms --batch 20 --repeats 4 --no-probe --no-ceiling --db "$db")

"$blksweep" --quiet "${sweep[@]}" >/dev/null 2>"$tmp/.err" </dev/null &
pid=$!
for ((i = 0; i < 600; ++i)); do
  [ "$(ask 'SELECT count(*) FROM run' 2>/dev/null || echo 0)" -lt 1 ] || break
  sleep 0.05
done
# Killed while it has the scheduler: between two runs it may just have been given back.
for ((i = 0; i < 400; ++i)); do
  [[ $(cat "$queue/scheduler") != *'[mq-deadline]'* ]] || break
  sleep 0.02
done
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
[[ $(cat "$queue/scheduler") == *'[mq-deadline]'* ]] || die 'the kill left nothing behind'
finished=$(ask 'SELECT count(*) FROM run')
((finished >= 1 && finished < 4)) || die "killed too late: $finished runs of 4"

call "${sweep[@]}"
expect_status 0
[ "$(ask 'SELECT count(*) FROM experiment')" = 1 ] ||
  die "another experiment: $(ask 'SELECT experiment_id, scheduler FROM experiment')"
[ "$(ask 'SELECT count(*) FROM run WHERE incomplete = 0')" = 4 ] || die 'runs are missing, or were made twice'
[[ $(ask 'SELECT scheduler FROM experiment') == *'[none]'* ]] || die "$(ask 'SELECT scheduler FROM experiment')"
[[ $(cat "$queue/scheduler") == *'[none]'* ]] || die 'the scheduler was not put back'

# --- as after a crash between the first row of an experiment and its first run -------------------------
ask "CREATE TEMP TABLE e AS SELECT * FROM experiment; CREATE TEMP TABLE c AS SELECT * FROM cell;
  UPDATE e SET experiment_id = experiment_id + 1, facts_hash = 'other';
  UPDATE c SET experiment_id = experiment_id + 1, cell_id = cell_id + 100;
  INSERT INTO experiment SELECT * FROM e; INSERT INTO cell SELECT * FROM c;
  INSERT INTO cell_setting SELECT cell_id + 100, position, name, value FROM cell_setting;"
for which in newest all; do
  call report "$db" --experiment "$which" --json
  expect_status 0
  expect "$which: the empty experiment hides the runs" 'len(runs) == 4'
done
call report "$db" --experiment 2
expect_status 0
ask 'PRAGMA foreign_keys = OFF; DELETE FROM run'
call report "$db"
expect_error 1 "$db has no run yet" --db
echo 'resume after a kill: fine'
