#!/usr/bin/env bash
# tests/cli/ranks.sh for longer: KILLS (20) ranks killed at random moments, KEEPERS (20) of their keepers, STOPS (5).
set -euo pipefail
KILLS=${KILLS:-20} KEEPERS=${KEEPERS:-20} STOPS=${STOPS:-5} exec "$(dirname "$0")/../cli/ranks.sh"
