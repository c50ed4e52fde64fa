#!/usr/bin/env bash
# What the progress line costs: the same epochs from memory, as fast as they go, with the line on a terminal and without
# it, in turns.
#
#   scripts/experiments/progress-cost.sh DATA WORK RESULTS.db
#
#   DATA   folder of files; made when missing     WORK  not used
#   PAIRS=20 COUNT=4000 EPOCHS=25
# exit: as blksweep run; 3 when a run is incomplete.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
data=$1
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
run=("$blksweep" run --data "$data" --order lba --merge file --buffered --cache warm --pin-pages 100% --no-probe
  --no-ceiling --no-check --epochs "${EPOCHS:-25}" --db "$db")
status=0

# measure on|off REPEAT: both in a session and on a terminal of their own, because the kernel shares out CPUs by session;
# with the line it is drawn there five times a second.
measure() {
  local code=0
  local -a command=("${run[@]}" --disk-label "$1" --repeats "$2")
  [ "$1" = on ] || command+=(--quiet)
  script -qefc "${command[*]@Q} >/dev/null" /dev/null >/dev/null || code=$?
  case $code in
    0) ;;
    3) status=3 ;;
    *) exit "$code" ;;
  esac
}

[ -e "$data" ] || "$blksweep" dataset make "$data" --count "${COUNT:-4000}" --size 4KiB >&2
for ((repeat = 1; repeat <= ${PAIRS:-20}; repeat++)); do
  for label in $( ((repeat % 2)) && echo on off || echo off on); do
    measure "$label" "$repeat"
  done
done
exit "$status"
