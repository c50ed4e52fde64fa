#!/usr/bin/env bash
# tests/cli/ends.sh for longer: ENDS (320) ends of a sweep at random moments, from SEED on.
set -euo pipefail
ENDS=${ENDS:-320} SEED=${SEED:-$RANDOM} exec "$(dirname "$0")/../cli/ends.sh"
