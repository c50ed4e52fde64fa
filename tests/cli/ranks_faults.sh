#!/usr/bin/env bash
# What can be wrong with one rank of several: bytes that differ from the others', a full disk, a start that is late. All end
# in bounded time, the line names the rank, and what was read is told.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node but a cgroup of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# shellcheck source=tests/cli/mpi_helpers.bash
. "$(dirname "$0")/mpi_helpers.bash"

make_data "$tmp/data" 60

# as_rank RANK COMMAND : what rank RANK does before it starts, of those that launch starts
as_rank() {
  program=${program:-$mpi}
  mpi=$tmp/.as_rank
  # shellcheck disable=SC2016
  printf '#!/bin/bash\nif [ "$OMPI_COMM_WORLD_RANK" = %s ]; then %s; fi\nexec "%s" "$@"\n' "$1" "$2" "$program" >"$mpi"
  chmod +x "$mpi"
}

# --- other options than rank 0's: a result would tell those of rank 0 for all ------------------------------
for other in '--batch 8' '--barrier batch' '--verify'; do
  # shellcheck disable=SC2086
  launch 1 --json --data "$tmp/data" : -n 1 "$mpi" --data "$tmp/data" $other
  expect_status 2
  [[ $err == *'rank 1 '*'options are not those of rank 0: '*"$(cut -c 3-5 <<<"$other")"* ]] || die "$other of one rank is named: $err"
done

# --- a folder of which the scan left something out: fewer samples, which is told ---------------------------
mkdir "$tmp/shards"
tar -C "$tmp/data" -cf "$tmp/shards/whole.tar" .
head -c 20000 "$tmp/shards/whole.tar" >"$tmp/shards/cut.tar"
launch 2 --json --data "$tmp/shards"
expect_status 0
holds 'what was left out' 'doc["complete"] and any("damaged tar file, left out" in w and "cut.tar" in w for w in doc["warnings"])'

# --- late: nobody waits for longer than --patience --------------------------------------------------------
for late in 1 0; do
  as_rank "$late" 'sleep 30'
  launch 3 --json --data "$tmp/data" --patience 2s --db "$tmp/late.db"
  expect_status 1 3
  [[ $err == *"rank $late"*'has not come'*'--patience'* ]] || die "rank $late is late, and named: $err"
done
[ "$(sqlite3 "$tmp/late.db" "SELECT complete, fault LIKE 'rank 1%not come%', ranks FROM ranks")" = '0|1|3' ] || die 'one that is late is kept'
echo 'late ranks: named'

# --- stopped, and going on: all comes, at times that are not the disk's ------------------------------------
cat >"$tmp/hold" <<'SH'
#!/bin/bash
for _ in {1..1000}; do
  for child in $(cat "/proc/$1/task/$1/children"); do # this script is one, too
    [ "$(cat "/proc/$child/comm")" != 'rank 1 reads' ] || break 2
  done
  sleep 0.01
done
kill -STOP "$child" && sleep 0.6
kill -CONT "$child"
SH
chmod +x "$tmp/hold"
# shellcheck disable=SC2016
as_rank 1 '"'"$tmp/hold"'" $$ </dev/null >/dev/null 2>&1 & true'
launch 2 --json --data "$tmp/data" --batch 2 --compute 20ms --epochs 4
expect_status 3
[[ $err == *'rank 1 '*'stood still for '* ]] || die "a rank that was stopped is named: $err"
holds 'all came' 'not doc["complete"] and doc["missing_samples"] == 0 and [r["state"] for r in rows] == ["done", "failed"]'
echo 'a rank that was stopped: named'

# --- killed while it connects to mpirun --------------------------------------------------------------------
# mpirun is stopped until the rank waits for its answer, and is killed. (PMIx 4.2.2: mpirun would never end.)
kill_connecting() {
  local parent keeper rank=0 call=
  local -a keepers
  until [ -s "$tmp/parent" ]; do sleep 0.02; done
  parent=$(cat "$tmp/parent")
  for _ in {1..200}; do
    read -ra keepers <"/proc/$parent/task/$parent/children" || true # no newline ends it
    for keeper in "${keepers[@]}"; do
      ! grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$keeper/environ" || read -r rank _ <"/proc/$keeper/task/$keeper/children" || true
    done
    ! read -r call _ 2>/dev/null <"/proc/$rank/syscall" || [[ $call != 45 && $call != 207 ]] || break # recvfrom, of x86_64 and arm64
    sleep 0.02
  done
  kill -KILL "$rank"
  while [ -e "/proc/$rank" ]; do sleep 0.02; done # its keeper has seen it
  kill -CONT "$parent"
}
# shellcheck disable=SC2016
as_rank 1 'echo $PPID >"'"$tmp/parent"'"; kill -STOP $PPID'
kill_connecting &
mpirun=(timeout -s KILL 60 "${mpirun[@]}" --mca orte_tmpdir_base "$tmp") # such an mpirun leaves its folder behind
launch 3 --json --data "$tmp/data"
wait "$!"
expect_status 1 3
[[ $err == *'rank 1'*'signal 9'* ]] || die "the rank that was killed as it connected is named: $err"
echo "killed as it connects: $(grep -c 'PMIX ERROR' <<<"$err") error of mpirun, which $(grep -q 'has not ended' <<<"$err" && echo 'was ended' || echo 'ended')"
mpi=$program
[ "$(id -u)" = 0 ] || skip 'the rest needs root, for mounts'

# --- other bytes: a copy of one rank, of the same names and sizes -----------------------------------------
cp -r "$tmp/data" "$tmp/other"
for split in sample copy; do
  file=$(find "$tmp/other" -name '*.bin' | sort | sed -n 2p)
  printf 'x' | dd of="$file" conv=notrunc bs=1 seek=100 status=none
  other_data 2 1 "$tmp/other" "$tmp/data" --order path --verify --json --split "$split"
  expect_status 1
  [[ $err == *'rank 1 '*"rank 0's files"*"$(basename "$file")"* ]] || die "$split: the rank whose bytes differ is named: $err"
  holds "$split: what differs is counted" "not doc['complete'] and doc['fault']['rank'] == 1 and
    [r['wrong_samples'] for r in rows] == [0, 1] and rows[1]['state'] == 'failed' and rows[0]['state'] == 'done'"
done
echo 'other bytes: the rank is named'

# --- a full disk ------------------------------------------------------------------------------------------
mkdir "$tmp/small"
# shellcheck disable=SC2016
at_exit 'umount -l "$tmp/small"'
mount -t tmpfs -o size=1M,mode=700 tmpfs "$tmp/small"
launch 2 --json --data "$tmp/data" --db "$tmp/small/r.db"
full=$status
dd if=/dev/zero of="$tmp/small/rest" bs=4k status=none 2>/dev/null || true
launch 2 --json --data "$tmp/data" --db "$tmp/small/r.db"
expect_status 1
[[ $err == *"$tmp/small/r.db"* ]] || die "the database on a full disk is named: $err"
echo "a database of $(du -k "$tmp/small/r.db" | cut -f1) KiB, the first epoch ended with $full"
if [ "$full" = 0 ]; then # it was there, and only the row found no room: the result is told
  [[ $err == *'rank 0 '*'not kept'* ]] || die "who could not keep it is named: $err"
  holds 'what was read is told' "doc['complete'] and doc['joined']['samples'] == 60"
fi
echo 'a full disk: told, and named'

# The memory that ranks of one node talk through is a disk, too: MPI does not start on that node.
as_rank 1 'mount -t tmpfs -o size=64k tmpfs /dev/shm; dd if=/dev/zero of=/dev/shm/x bs=4k status=none'
status=0
"${mpirun[@]}" -n 3 "${own_mounts[@]}" "$mpi" --json --data "$tmp/data" --patience 5s >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
expect_status 1 3
[[ $err == *'blksweep-mpi: rank 1 '* ]] || die "the rank that MPI does not start on is named: $err"
holds 'it is the fault of the result' "not doc['complete'] and doc['fault']['rank'] == 1 and len(rows) == 3"
echo 'no memory to talk through: named'

# --- a rank that its CPU quota held: its times are the quota's --------------------------------------------
# Of 25 ms each: several of 100 ms together, which a busy machine makes of it, are a standstill, and no warning.
group=/sys/fs/cgroup/blksweep-test-$$ limit=cpu.max quota='1000 25000'
if [ -d /sys/fs/cgroup/cpu ]; then
  group=/sys/fs/cgroup/cpu/blksweep-test-$$ limit=cpu.cfs_quota_us quota=1000
fi
if mkdir "$group" 2>/dev/null && [ -w "$group/$limit" ]; then
  at_exit "rmdir '$group'"
  [ "$limit" = cpu.max ] || echo 25000 >"$group/cpu.cfs_period_us"
  echo "$quota" >"$group/$limit"
  as_rank 1 "echo \$\$ >$group/cgroup.procs"
  launch 2 --json --data "$tmp/data" --batch 1 --epochs 60 --db "$tmp/quota.db"
  expect_status 0
  holds 'the result has it, too' "[w.startswith('rank 1 on ') for w in doc['warnings'] if 'quota' in w] == [True]"
  [[ $err == *'warning: rank 1 on '*': a CPU quota held the cgroup'* ]] || die "a rank that its quota held is named: $err"
  [[ $err != *'rank 0 on '*quota* ]] || die "one that none held is not: $err"
  call report "$tmp/quota.db"
  [[ $out == *'complete; rank 1 on '*': a CPU quota held'* ]] || die "a report says it: $out"
  echo 'a quota: told, and named'
else
  echo "a quota: no group with $limit can be made here"
fi
