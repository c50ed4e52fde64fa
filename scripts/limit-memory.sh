#!/usr/bin/env bash
# Runs a command with at most SIZE of memory and page cache, in a cgroup that goes with it.
#
#   scripts/limit-memory.sh SIZE COMMAND [ARGUMENT...]      scripts/limit-memory.sh 64MiB fio job.fio
#
# Thin over `blksweep node exec`, which has more limits and says what the command used.
# The program is $BLKSWEEP, else build/blksweep beside this folder, else the one in PATH.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
blksweep=${BLKSWEEP:-$(dirname "$0")/../build/blksweep}
[ -x "$blksweep" ] || blksweep=blksweep
size=$1
shift
exec "$blksweep" node exec --memory-limit "$size" -- "$@"
