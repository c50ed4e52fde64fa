#!/usr/bin/env bash
# together.sh STAMP FILE... -- COMMAND WITH SOURCE
#
# Runs COMMAND on all the files as one source, so that headers are read once, and touches STAMP. Where they
# cannot be one source (one name for different things) or something is found, it looks at each half,
# down to single files: what is said is about one file.
set -euo pipefail

stamp=$1
shift
files=()
while [ "$1" != -- ]; do
  files+=("$1")
  shift
done
shift
command=("$@")

run() { # SOURCE
  "${command[@]/#SOURCE/$1}" >"$stamp.log" 2>&1
}

look() { # FILE...
  if [ $# -eq 1 ]; then
    run "$1" || { cat "$stamp.log" >&2 && return 1; }
    return
  fi
  printf '#include "%s"  // NOLINT\n' "$@" >"$stamp.cpp"
  run "$stamp.cpp" && return
  local half=$(($# / 2)) status=0
  look "${@:1:half}" || status=1
  look "${@:half+1}" || status=1
  return "$status"
}

mkdir -p "$(dirname "$stamp")"
look "${files[@]}"
touch "$stamp"
