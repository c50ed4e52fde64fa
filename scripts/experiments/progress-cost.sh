#!/usr/bin/env bash
# What the progress line costs: the same epochs from memory, as fast as they go, with the line on a terminal of its own and
# without it, in turns.
#
#   scripts/experiments/progress-cost.sh DATA WORK RESULTS.db
#
#   DATA   folder of files; made when missing     WORK  not used
#   PAIRS=10 COUNT=20000 EPOCHS=20
set -euo pipefail

[ $# = 3 ] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2; exit 2; }
data=$1
db=$3
blksweep=${BLKSWEEP:-build/blksweep}
run=("$blksweep" run --data "$data" --order lba --merge file --buffered --cache warm --no-probe --no-ceiling
  --no-check --epochs "${EPOCHS:-20}" --db "$db")

# measure on|off REPEAT
measure() {
  local -a command=("${run[@]}" --disk-label "$1" --repeats "$2")
  if [ "$1" = on ]; then
    script -qefc "${command[*]@Q}" /dev/null >/dev/null  # a terminal: the line is drawn five times a second
  else
    "${command[0]}" --quiet "${command[@]:1}" >/dev/null
  fi
}

[ -e "$data" ] || "$blksweep" dataset make "$data" --count "${COUNT:-20000}" --size 4KiB >&2
for ((repeat = 1; repeat <= ${PAIRS:-10}; repeat++)); do
  for label in $( ((repeat % 2)) && echo on off || echo off on); do
    measure "$label" "$repeat"
  done
done
