#!/usr/bin/env bash
# Runs the campaigns of tests/soak one after the other; each prints its figures.
#
#   scripts/soak.sh BUILD [NAME...]
#
# exit: 0 all passed or said why they skip, 1 one failed.
set -euo pipefail

build=$1
shift
BLKSWEEP=$(readlink -f "$build/blksweep")
export BLKSWEEP BUILD=$build
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(basename -s .sh -a tests/soak/*.sh)
failed=0
for name in "${names[@]}"; do
  echo "-- soak: $name"
  status=0
  bash "tests/soak/$name.sh" || status=$?
  case $status in
    0) echo "   soak: $name: passed ($SECONDS s so far)" ;;
    77) echo "   soak: $name: skipped, as it says" ;;
    *)
      echo "   soak: $name: FAILED, status $status"
      failed=1
      ;;
  esac
done
exit "$failed"
