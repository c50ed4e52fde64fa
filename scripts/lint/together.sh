#!/usr/bin/env bash
# together.sh OUT FILE... -- COMMAND WITH SOURCE AND OUTPUT
#
# Runs COMMAND once for all the sources, so that headers are read and templates made once. Where they
# cannot be one source (one name for different things) or something is found in them, it runs for
# each alone, and what is said is about that file. OUT is an object, or a stamp that is touched.
set -euo pipefail

out=$1
shift
files=()
while [ "$1" != -- ]; do
  files+=("$1")
  shift
done
shift
command=("$@")

run() { # SOURCE OUTPUT
  local words=("${command[@]/#SOURCE/$1}")
  "${words[@]/#OUTPUT/$2}"
}

mkdir -p "$(dirname "$out")"
all=$out.cpp
printf '#include "%s"  // NOLINT\n' "${files[@]}" >"$all"
if ! run "$all" "$out" >"$out.log" 2>&1; then
  parts=()
  for file in "${files[@]}"; do
    part=$out.$(basename "$file" .cpp).o
    run "$file" "$part" >"$out.log" 2>&1 || {
      cat "$out.log" >&2
      exit 1
    }
    [ ! -e "$part" ] || parts+=("$part")
    # What make knows of this part's headers holds for the whole.
    [ ! -e "${part%.o}.d" ] || sed -i "s|^$part:|$out:|" "${part%.o}.d"
  done
  [ ${#parts[@]} -eq 0 ] || ld -r -o "$out" "${parts[@]}"
fi
touch "$out"
