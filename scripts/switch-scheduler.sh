#!/bin/sh
# Another I/O scheduler for a device, and back; a wrapper over `blksweep node`.
#
#   switch-scheduler.sh DEV|PATH              which there are, and which is on
#   switch-scheduler.sh DEV|PATH SCHEDULER    switch; the old one and its settings are written down
#   switch-scheduler.sh --restore             put back everything that was changed so
#
# The program is $BLKSWEEP, else build/blksweep beside this folder, else the one in PATH.
set -eu
blksweep=${BLKSWEEP:-$(dirname "$0")/../build/blksweep}
[ -x "$blksweep" ] || blksweep=blksweep

case "$#:${1:-}" in
  1:--restore) exec "$blksweep" node restore ;;
  1:-* | 0:*)
    sed -n 's/^# \{0,1\}//; 2,6p' "$0" >&2
    exit 2
    ;;
  1:*) exec "$blksweep" node show "$1" ;;
  2:*) exec "$blksweep" node set --device "$1" --scheduler "$2" ;;
  *)
    echo "switch-scheduler.sh: too many words: DEV|PATH [SCHEDULER]" >&2
    exit 2
    ;;
esac
