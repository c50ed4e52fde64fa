#!/usr/bin/env bash
# What the progress line costs: the same epochs from memory, as fast as they go, with the line on a terminal and without
# it, in turns.
#
#   scripts/experiments/progress-cost.sh DATA WORK RESULTS.db
#
#   DATA   folder of files; made when missing     WORK  not used
#   PAIRS=20 COUNT=4000 EPOCHS=600 (some seconds: the line is drawn five times in each)
# exit: as blksweep run; 3 when a run is incomplete.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
data=$1
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
run=("$blksweep" run --data "$data" --order lba --merge file --buffered --cache warm --pin-pages 100% --no-probe
  --no-ceiling --no-check --epochs "${EPOCHS:-600}" --db "$db")
status=0
terminal=$(mktemp)  # what was shown
trap 'rm -f "$terminal"' EXIT

# measure on|off REPEAT: both in a session and on a terminal of their own, because the kernel shares out CPUs by session;
# with the line it is drawn there five times a second.
measure() {
  local code=0
  local -a command=(env -u NO_COLOR TERM=xterm "${run[@]}" --disk-label "$1" --repeats "$2")
  [ "$1" = on ] || command+=(--quiet)
  script -qefc "${command[*]@Q} >/dev/null" "$terminal" >/dev/null || code=$?
  case $code in
    0) ;;
    3) status=3 ;;
    *) exit "$code" ;;
  esac
  local drawn=off
  ! grep -qF $'\r\033[K[' "$terminal" || drawn=on
  [ "$drawn" = "$1" ] || { echo "progress-cost: the line was $drawn where it was to be $1" >&2; exit 1; }
}

[ -e "$data" ] || "$blksweep" dataset make "$data" --count "${COUNT:-4000}" --size 4KiB >&2
for ((repeat = 1; repeat <= ${PAIRS:-20}; repeat++)); do
  for label in $( ((repeat % 2)) && echo on off || echo off on); do
    measure "$label" "$repeat"
  done
done
exit "$status"
