#!/usr/bin/env bash
# The queue of the disk is a fact of an experiment: a run under another one is incomplete and names it,
# whoever changed it and whether between runs or in the middle of one.
# Side by side: on a disk of its own, whose settings alone it changes.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 64MiB
queue=/sys/block/${loopfs_device#/dev/}/queue
make_data "$tmp/disk/data" 100
make_catalog "$tmp/disk/data" "$tmp/data.cat"
sql() { sqlite3 "$1" "$2" 2>/dev/null || echo 0; }

# changed_amid DB SETTING WHILE VALUE OPTION...: somebody sets it whenever it is WHILE and a run is stored,
# until a run has noticed.
changed_amid() {
  local db=$1 setting=$2 when=$3 value=$4 pid i now
  shift 4
  "$blksweep" --quiet run --catalog "$tmp/data.cat" --compute 20ms --batch 20 --repeats 60 --no-probe --no-ceiling \
    --db "$db" "$@" >/dev/null 2>&1 </dev/null &
  pid=$!
  end_at_exit "$pid"
  until [ "$(sql "$db" 'SELECT count(*) FROM run')" -ge 2 ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  for ((i = 0; i < 200; ++i)); do
    now=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/$setting") # of several, which are named all the time, the one in brackets
    # A moment after it was borrowed: the run looks then at what the kernel took of it.
    [ "$now" != "$when" ] || { sleep 0.03 && echo "$value" >"$queue/$setting"; }
    [ "$(sql "$db" 'SELECT count(*) FROM run WHERE incomplete = 1')" = 0 ] || break
    sleep 0.02
  done
  kill -INT "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

changed_amid "$tmp/fact.db" nomerges 0 2
[ "$(sql "$tmp/fact.db" "SELECT count(*) > 0 FROM run WHERE incomplete_reason LIKE '%nomerges 0, now 2%'")" = 1 ] ||
  die 'runs under other merging than their experiment are complete'
echo 0 >"$queue/nomerges"
# On a busy machine it may still be taken away before the run has looked: then it is written meanwhile, and not changed.
for _ in {1..5}; do
  rm -f "$tmp"/wish.db*
  changed_amid "$tmp/wish.db" scheduler mq-deadline none --scheduler mq-deadline
  [ "$(sql "$tmp/wish.db" "SELECT count(*) FROM run WHERE incomplete_reason LIKE '%changed during the run%'")" = 0 ] || break
done
[ "$(sql "$tmp/wish.db" "SELECT count(*) > 0 FROM run WHERE incomplete_reason LIKE '%changed during the run:%scheduler%'")" = 1 ] ||
  die "a run whose scheduler was taken away is complete: $(sql "$tmp/wish.db" 'SELECT incomplete_reason FROM run')"

# --- btrfs reads ahead by a setting of its own, which --read-ahead cannot reach ----------------------------
loopfs_remove
if loopfs_make "$tmp/btrfs.img" "$tmp/btrfs" 160MiB btrfs; then
  make_data "$tmp/btrfs/data" 20
  call run --data "$tmp/btrfs/data" --read-ahead 4KiB --buffered --no-probe --no-ceiling
  expect_error 77 '--read-ahead' 'has one of its own'
  call run --data "$tmp/btrfs/data" --buffered --no-probe --no-ceiling --db "$tmp/btrfs.db"
  expect_status 0
  [ "$(sql "$tmp/btrfs.db" "SELECT value > 0 FROM queue_setting WHERE name = 'btrfs/read_ahead_kb'")" = 1 ] ||
    die 'the read-ahead of btrfs is no stored fact'
fi
# --- what whoever started the program gave or took from it: the requests are others, and so is the experiment ---
small_pages() {
  /usr/bin/python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}
long_reads=(run --data "$tmp/mnt/long" --order lba --merge device --cache keep --no-probe --no-ceiling --db "$tmp/started.db")
started() { # EXPERIMENTS NAME VALUE COMMAND...: so many then, the newest of which has the fact
  local experiments=$1 name=$2 value=$3
  shift 3
  "$@" "$blksweep" "${long_reads[@]}" --repeats 1 >"$tmp/out" 2>&1 || die "$(cat "$tmp/out")"
  [ "$(sql "$tmp/started.db" 'SELECT count(*) FROM experiment')" = "$experiments" ] || die "$*: no experiment of its own"
  [ "$(sql "$tmp/started.db" "SELECT value FROM queue_setting WHERE name = '$name' ORDER BY experiment_id DESC LIMIT 1")" = "$value" ] ||
    die "$*: $name is not stored"
}
loopfs_remove
if loopfs_make "$tmp/long.img" "$tmp/mnt" 64MiB; then
  call dataset make "$tmp/mnt/long" --count 10 --size 2MiB
  expect_status 0
  started 1 process/nice "$(nice)"
  grep -qF '[never]' /sys/kernel/mm/transparent_hugepage/enabled || started 2 memory/transparent_hugepage never small_pages
  experiments=$(sql "$tmp/started.db" 'SELECT count(*) FROM experiment')
  started $((experiments + 1)) process/io_priority idle ionice -c 3
  started $((experiments + 2)) process/nice 19 nice -n 19
fi
echo 'queue: a fact of the experiment, held to the end of each run'
