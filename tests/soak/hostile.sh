#!/usr/bin/env bash
# tests/cli/hostile.sh for longer: COUNT (20000) generated files of a stranger.
set -euo pipefail
COUNT=${COUNT:-20000} exec "$(dirname "$0")/../cli/hostile.sh"
