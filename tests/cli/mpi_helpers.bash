# shellcheck shell=bash disable=SC2154,SC2034
# To be sourced after helpers.bash: several ranks of blksweep-mpi on this machine.

# As root, with more ranks than CPUs, and without looking for other nodes or fast networks.
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
  "${mpirun[@]}" -n "$n" unshare --mount "$tmp/.other" --data "$at" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}
