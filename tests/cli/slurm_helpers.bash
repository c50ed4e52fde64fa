# shellcheck shell=bash disable=SC2154,SC2034
# To be sourced after helpers.bash: a Slurm of the test's own on this machine, of two nodes with four CPUs each, below $tmp/slurm.

# slurm_up: started, and gone when the test ends
slurm_up() {
  local at=$tmp/slurm host port
  host=$(hostname -s)
  port=$((20000 + $$ % 4000 * 3))
  mkdir -p "$at"/{state,spool-n1,spool-n2,tmp-n1,tmp-n2}
  head -c 1024 /dev/urandom >"$at/munge.key"
  chmod 400 "$at/munge.key"
  # A node's files are its own by %n: PMIx puts its sockets into TmpFS.
  cat >"$at/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$at/munge.sock
SlurmctldPort=$port
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool-%n
TmpFS=$at/tmp-%n
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd-%n.pid
SlurmctldLogFile=$at/slurmctld.log
SlurmdLogFile=$at/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=10
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
CONF
  export SLURM_CONF=$at/slurm.conf
  at_exit slurm_down
  munged --force --key-file="$at/munge.key" --socket="$at/munge.sock" --pid-file="$at/munged.pid" \
    --log-file="$at/munged.log" --seed-file="$at/munge.seed"
  slurmctld -c
  node_up n1
  node_up n2
  for _ in {1..600}; do
    [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | grep -c idle)" = 2 ] && return
    sleep 0.1
  done
  die "Slurm does not start: $(tail -n 3 "$at"/*.log)"
}

# node_up NAME : in a host name and a /dev/shm of its own, where Open MPI finds processes of one node
node_up() {
  # shellcheck disable=SC2016
  "${own_mounts[@]}" unshare --uts bash -c 'hostname "$1" && mount -t tmpfs tmpfs /dev/shm && exec slurmd -N "$1" -c' - "$1"
}

slurm_down() {
  local one pid
  scancel --user=root 2>/dev/null || true
  for one in slurmd-n1 slurmd-n2 slurmctld munged; do
    [ -s "$tmp/slurm/$one.pid" ] || continue
    pid=$(cat "$tmp/slurm/$one.pid")
    kill "$pid" 2>/dev/null || continue
    # Until it has written what it writes at its end; where nobody waits for it, it stays as a zombie.
    for _ in {1..100}; do
      grep -qs ') [^Z]' "/proc/$pid/stat" || break
      sleep 0.1
    done
  done
}

# submit SCRIPT ARGUMENT... : sbatch, and waits for its end; $status is that of the job
submit() {
  status=0 out=''  # that of a call before has nothing to say of the job
  sbatch --wait --quiet --chdir="$tmp" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
}

# submit_again NAME ... : the same. A crash of Open MPI's own start, which is said by name before anything is read (docs/ranks.md), is
# no fault of ours: the job is submitted again, as the line says, twice at most. NAME-*.log: what it says
submit_again() {
  local name=$1
  shift
  for _ in 1 2 3; do
    submit "$@"
    [ "$status" != 0 ] || return 0
    grep -qs 'rank [0-9]*: ended by signal .* while MPI started, before anything was read: start the job again' \
      "$(find "$tmp" -maxdepth 1 -name "$name-*.log" | sort -V | tail -1)" || return 0
  done
}
