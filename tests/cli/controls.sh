#!/usr/bin/env bash
# `run --controls` (docs/controls.md): a rig that is broken on purpose is named by the first line of the table, of
# the report and of the JSON; one without a fault passes. On an emulated disk of this test's own.
# Side by side: on an emulated disk of its own, whose times are far above those of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"
need_disks
here=$(realpath "$(dirname "$0")")

rotating_data 80
device=$(findmnt -no SOURCE "$tmp/mnt")

sweep=(--data "$tmp/mnt/data" --order "random,lba" --merge none --cache cold --no-ceiling --controls)

# first_line TEXT... : of what `run` has printed, of the report of its database, and of its JSON
first_line() {
  local text line
  line=$(head -n 1 "$tmp/.out")
  for text in "$@"; do
    [[ $line == *"$text"* ]] || die "the first line lacks '$text': $line"
  done
  call report "$tmp/results.db" -o "$tmp/report" --no-figures
  [ "$(head -n 1 "$tmp/.out")" = "$line" ] || die 'report begins with another line'
  [ "$(head -n 1 "$tmp/report/rig.txt")" = "$line" ] || die 'the page gets another line'
  call report "$tmp/results.db" --json
  expect 'the line is the first key of the JSON' "list(doc)[0] == 'rig' and doc['rig']['line'] == open('$tmp/report/rig.txt').readline().strip()"
}

# sweep_says TEXT... -- OPTION... : a sweep into a new database, and what its first line must say
sweep_says() {
  local -a texts=()
  while [ "$1" != -- ]; do
    texts+=("$1")
    shift
  done
  shift
  rm -rf "$tmp/results.db" "$tmp/report"
  call run "${sweep[@]}" --db "$tmp/results.db" "$@"
  [ "$status" = 0 ] || [ "$status" = 3 ] || die 'the sweep failed'
  first_line "${texts[@]}"
}

# --- without a fault -------------------------------------------------------------------------------
call run "${sweep[@]}" --repeats 5 --db "$tmp/results.db"
expect_status 0
# A control fails by chance in one session of a hundred: tests/soak/controls.sh counts those.
[[ $(head -n 1 "$tmp/.out") != BROKEN* ]] || die 'a rig without fault is called broken'
grep -q 'a/a [0-9.]* \[.*ram [0-9.]* \[.*reverse [0-9.]* \[.*no-op [0-9,]* samples/s (5 rounds)' "$tmp/.out" || die 'the controls are told'
! grep -q 'control' <(sed -n '/^cell/,/^ratio/p' "$tmp/.out") || die 'controls are no rows of the table'
call report "$tmp/results.db" -o "$tmp/report"
expect_status 0
/usr/bin/python3 - "$tmp/report/report.html" <<'PY' || die 'the page begins with the line'
import re, sys
body = open(sys.argv[1]).read().split("<body>")[1].strip()
assert re.match(r"<p class='rig (good|bad|soft)'>\S", body), body[:200]
PY
db() { sqlite3 "$tmp/results.db" "$1"; }
[ "$(db "SELECT group_concat(value || n, ' ') FROM (SELECT value, count(*) n FROM cell_setting s JOIN run USING (cell_id)
  WHERE s.name = 'control' GROUP BY value ORDER BY value)")" = 'a/a5 no-op5 ram10 reverse5' ] || die 'every control in every round'
[ "$(db 'SELECT count(*) FROM (SELECT group_concat(cell_id) o FROM (SELECT cell_id, repeat FROM run ORDER BY run_id) GROUP BY repeat)')" = 5 ] || die 'rounds'
[ "$(db 'SELECT count(DISTINCT o) FROM (SELECT group_concat(cell_id) o FROM (SELECT cell_id, repeat FROM run ORDER BY run_id) GROUP BY repeat)')" -gt 1 ] ||
  die 'the order in the rounds is drawn, of controls too'
[ "$(db "SELECT count(*) FROM run r JOIN cell_setting s USING (cell_id) WHERE s.name = 'control' AND value = 'no-op' AND device_bytes > 100000")" = 0 ] ||
  die 'the no-op reader reads nothing'
[ "$(db 'SELECT count(*) FROM noise WHERE spin_before_wall_ns > 0 AND spin_after_cpu_ns > 0')" = 35 ] || die 'the CPU is timed'
[ "$(db 'SELECT count(*) FROM probe WHERE in_plan > 0.8 AND coalesce(plan_order, 1) > 0.8')" = "$(db 'SELECT count(*) FROM probe WHERE in_plan NOTNULL')" ] ||
  die "a true map is proven: $(db 'SELECT in_plan, plan_order FROM probe')"

# --- data left in the cache ------------------------------------------------------------------------
"$python" - "$tmp/mnt/data" <<'PY' >"$tmp/held" &
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
held = []
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as f:
            if os.fstat(f.fileno()).st_size:
                held.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
libc.mlockall(1)
print("held", flush=True)
time.sleep(600)
PY
holder=$!
end_at_exit "$holder"
until grep -q held "$tmp/held"; do sleep 0.05; done
sweep_says 'BROKEN RIG: data left in the cache' -- --repeats 1
kill "$holder"
wait "$holder" 2>/dev/null || true

# --- a map of another disk -------------------------------------------------------------------------
gcc -shared -fPIC -O1 -o "$tmp/other_map.so" "$here/../support/other_map.c" -ldl
if [ "$(sqlite3 "$tmp/results.db" 'SELECT count(*) FROM probe')" != 0 ]; then
  export LD_PRELOAD=$tmp/other_map.so
  call run "${sweep[@]}" --repeats 1 --db "$tmp/map.db"
  unset LD_PRELOAD
  mv "$tmp/map.db" "$tmp/results.db"
  first_line 'BROKEN RIG: the map of addresses is not that of this disk'
fi

# --- a second reader -------------------------------------------------------------------------------
(while :; do dd if="$device" of=/dev/null bs=64k count=300 iflag=direct status=none; done) &
reader=$!
end_at_exit "$reader"
sweep_says 'BROKEN RIG: somebody else reads the disk' -- --repeats 1
kill "$reader"
wait "$reader" 2>/dev/null || true

# --- a CPU at half its speed in some rounds: somebody else's work on it ------------------------------
# disturbed_sweep : with others on its CPU in rounds 2 and 3 of 4, by what the sweep says itself.
runs_done() { grep -c '^blksweep: \[[0-9]*/28\].* samples in' "$tmp/cpu.err" || true; }
disturbed_sweep() {
  local hogs=() done_now sweep_pid
  rm -rf "$tmp/results.db" "$tmp/report"
  : >"$tmp/cpu.err" # there before it is looked at
  taskset -c 0 "$blksweep" run "${sweep[@]}" --repeats 4 --db "$tmp/results.db" >"$tmp/.out" 2>"$tmp/cpu.err" &
  sweep_pid=$!
  end_at_exit "$sweep_pid"
  while kill -0 "$sweep_pid" 2>/dev/null; do
    done_now=$(runs_done)
    if [ ${#hogs[@]} = 0 ] && [ "$done_now" -ge 7 ]; then
      for _ in 1 2 3; do
        taskset -c 0 "$python" -c 'while True: pass' &
        hogs+=("$!")
        end_at_exit "$!"
      done
    fi
    [ "$done_now" -lt 21 ] || break
    sleep 0.02
  done
  [ ${#hogs[@]} = 0 ] || kill "${hogs[@]}"
  wait "$sweep_pid" || true
}
# Where the machine itself is short of CPU, what is ours may drown in it: three sweeps at most.
for _ in 1 2 3; do
  disturbed_sweep
  line=$(head -n 1 "$tmp/.out")
  [[ $line != 'NOISE: the CPU was slow in rounds'*'others ran on it'* ]] || break
  echo "  once more after: $line"
done
first_line 'NOISE: the CPU was slow in rounds' 'others ran on it'

# --- an emulated disk that answers from memory while it is said to be a rotating one ------------------
call disk set "$disk" --speedup 1
cp "/run/blksweep/disks/$disk/state.json" "$tmp/state"
call disk set "$disk" --model none
cp "$tmp/state" "/run/blksweep/disks/$disk/state.json"
sweep_says 'BROKEN RIG: the disk answers from memory' 'hdd-7200' -- --repeats 2
