# shellcheck shell=bash disable=SC2154,SC2034
# To be sourced after helpers.bash: several ranks of blksweep-mpi on this machine.

mpi=$(dirname "$blksweep")/blksweep-mpi
[ -x "$mpi" ] || skip 'blksweep-mpi is not built: scripts/install-deps.sh mpi'

# As root, with more ranks than CPUs, and without looking for other nodes or fast networks.
# shellcheck disable=SC2054
mpirun=(mpirun --oversubscribe --bind-to none --mca btl vader,self --mca plm isolated)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

# launch N ARGUMENT... : as call, of N ranks
launch() {
  local n=$1
  shift
  status=0
  "${mpirun[@]}" -n "$n" "$mpi" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}

# holds TEXT PYTHON: of `doc`, the last answer
holds() {
  "$python" -c '
import json, sys
doc = json.loads(sys.argv[1])
rows, joined, mix = (doc[key] for key in ("rows", "joined", "shuffle_quality"))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$out" "$2" || die "$1: $out $err"
}

# planned OPTION... : in $want, the hash of the order that one process would have of $tmp/data.cat
planned() {
  call plan "$tmp/data.cat" "$@" --json
  expect_status 0
  want=$("$python" -c 'import json, sys; print(json.loads(sys.argv[1])["plans"][0]["emission_hash"])' "$out")
}

# other_data N RANK FOLDER AT ARGUMENT... : the same, of data AT, where rank RANK sees FOLDER
other_data() {
  local n=$1 rank=$2 folder=$3 at=$4
  shift 4
  cat >"$tmp/.other" <<SH
#!/bin/bash
if [ "\$OMPI_COMM_WORLD_RANK" = $rank ]; then
  mount --bind "$folder" "$at"
fi
exec "$mpi" "\$@"
SH
  chmod +x "$tmp/.other"
  status=0
  "${mpirun[@]}" -n "$n" "${own_mounts[@]}" "$tmp/.other" --data "$at" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}

# make_nodes: two network namespaces with a cable between them, and what mpirun calls in place of ssh
make_nodes() {
  one=blk$$one two=blk$$two
  # shellcheck disable=SC2016
  at_exit 'ip netns del "$one"; ip netns del "$two"'
  ip netns add "$one" || skip 'no network namespaces here'
  ip netns add "$two"
  ip link add cable0 netns "$one" type veth peer name cable1 netns "$two"
  ip -n "$one" address add 10.77.1.1/24 dev cable0
  ip -n "$two" address add 10.77.1.2/24 dev cable1
  ip -n "$one" link set lo up && ip -n "$two" link set lo up
  ip -n "$one" link set cable0 up && ip -n "$two" link set cable1 up
  cat >"$tmp/.agent" <<SH
#!/bin/bash
shift
exec ${own_mounts[*]@Q} ip netns exec $two unshare --uts bash -c 'hostname two && exec bash -c "\$0"' "\$*"
SH
  chmod +x "$tmp/.agent"
}

pull_cable() { ip -n "$one" link set cable0 down; }

# on_nodes ARGUMENT... : two ranks on each of them; stdout in $tmp/answer. mpirun's daemons notice soon that the other
# one is gone (they would wait for minutes).
on_nodes() {
  # shellcheck disable=SC2054
  local -a net=(--mca plm rsh --mca plm_rsh_agent "$tmp/.agent" --mca btl tcp,vader,self
    --mca btl_tcp_if_include 10.77.1.0/24 --mca oob_tcp_if_include 10.77.1.0/24
    --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3
    --mca orte_tmpdir_base "$tmp" --mca odls_base_sigkill_timeout 2)
  status=0
  # shellcheck disable=SC2016
  "${own_mounts[@]}" ip netns exec "$one" unshare --uts bash -c 'hostname one && exec "$@"' - mpirun --oversubscribe --bind-to none --allow-run-as-root \
    "${net[@]}" --host 10.77.1.1:2,10.77.1.2:2 -n 4 "$mpi" "$@" >"$tmp/answer" 2>"$tmp/.err" </dev/null || status=$?
  err=$(cat "$tmp/.err")
}
