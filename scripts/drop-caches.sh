#!/usr/bin/env bash
# Empties the page, dentry and inode caches, and shows what was in them before and after: a plain
# name for `blksweep cache drop`, whose arguments it takes.
#
#   scripts/drop-caches.sh                the whole node; needs root
#   scripts/drop-caches.sh --pages        its pages only (--inodes: dentries and inodes only)
#   scripts/drop-caches.sh DIR|FILE...    the pages of these
#
# The program is $BLKSWEEP, else build/blksweep beside this folder, else the one in PATH.
set -euo pipefail

program=${BLKSWEEP:-$(dirname "$0")/../build/blksweep}
[ -x "$program" ] || program=blksweep
exec "$program" cache drop "$@"
