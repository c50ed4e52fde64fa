#!/usr/bin/env bash
# A spec goes from nothing to a report: what is missing is made once and known again, a changed setting makes it
# anew, --dry-run makes nothing, and however it ends nothing of it is left up. tests/soak/spec_killed.sh kills it
# twenty times.
# Side by side: on disks and a /run of its own; what is made and left is looked at, not its times.
set -euo pipefail
# shellcheck source=tests/cli/own_run.bash
. "$(dirname "$0")/own_run.bash"
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/spec_helpers.bash
. "$(dirname "$0")/spec_helpers.bash"

cd "$tmp"
unset TMPDIR

# spec COUNT DISK [LINE...]
spec() {
  cat >"$tmp/spec.toml" <<TOML
db = "results.db"
workdir = "work"
repeats = 2
cache = "keep"
probe = false
ceiling = false
${3:-}
$2
[[data]]
name = "small"
make = { count = $1, size = "4KiB" }
[matrix]
order = ["random", "lba"]
merge = ["none", "file"]
exclude = [{ order = "random", merge = "file" }, { order = "lba", merge = "none" }]
TOML
}
disk="[[disk]]
name = \"t$$\"
size = \"64MiB\""

born() { stat -c '%i %w' "$tmp/work/t$$/"*.blksweep-image; } # whether the image is still the same one

# --- as an ordinary user: a plain folder works, a disk is refused before anything is made ---------------
mkdir "$tmp/user" && chmod 777 "$tmp/user"
spec 40 ''
(cd "$tmp/user" && call as_nobody run "$tmp/spec.toml" --json && expect_status 0 && expect 'four runs' 'len(runs) == 4')
[ "$(find "$tmp/user/work/data/small" -type f | wc -l)" = 40 ] || die 'the data set is not there'
spec 40 "$disk"
mkdir "$tmp/user2" && chmod 777 "$tmp/user2"
(cd "$tmp/user2" && call as_nobody run "$tmp/spec.toml" && expect_error 77 "disk t$$" root)
[ -z "$(ls -A "$tmp/user2")" ] || die 'something was made before it was refused'

# --- what was not made by a spec is not touched, and two sessions do not share a workdir ----------------
spec 40 ''
mkdir -p "$tmp/work/data/small" && echo mine >"$tmp/work/data/small/file"
call run spec.toml
expect_error 1 "$tmp/work/data/small is there, and no spec has made it"
[ "$(cat "$tmp/work/data/small/file")" = mine ] || die 'it was touched'
exec 9>"$tmp/work/lock" && flock 9
call run spec.toml --db other.db
expect_error 1 "$tmp/work is in use by another session"
exec 9>&-
rm -rf "$tmp/work" "$tmp"/*.db

# --- made data that somebody altered is not the spec's ----------------------------------------------------
altered() { # COMMAND : run in the folder of the data
  rm -rf "$tmp/work" "$tmp"/*.db
  call run spec.toml
  expect_status 0
  (cd "$tmp/work/data/small/class_0000" && eval "$1")
  call run spec.toml
  expect_error 1 "$tmp/work/data/small: changed since the spec made it (40 files of 163840 bytes" "remove $tmp/work/data/small"
}
altered 'rm 000000.bin'
altered 'truncate -s 10 000000.bin'
altered 'mv 000000.bin x && mv 000001.bin 000000.bin && mv x 000001.bin'
altered 'printf other | dd of=000000.bin conv=notrunc status=none'
rm -r "$tmp/work/data/small"
call run spec.toml
expect_status 0
rm -rf "$tmp/work" "$tmp"/*.db

# --- mistakes: one line with the place and the nearest name ---------------------------------------------
wrong() { # LINES... TEXT...
  printf '%b' "$1" >"$tmp/wrong.toml"
  shift
  call run wrong.toml
  expect_error 2 "$@"
}
wrong '[[disk]]\nname = "a"\nsiz = "1GiB"\n' 'wrong.toml:3:1' "'siz'" 'did you mean size?'
wrong '[[dsk]]\nname = "a"\n' 'wrong.toml:1:' "'[[dsk]]' is no table" 'did you mean [[disk]]?'
wrong '[data]\nname = "a"\n' 'wrong.toml:1:' "'[data]' is no table" 'did you mean [[data]]?'
wrong '[[data]]\nname = "a"\nfolder = "x"\nmake = { count = 1 }\n' 'wrong.toml:1:1' 'give one of make, pack, folder'
wrong '[[data]]\nname = "a"\nmake = { count = "x" }\n' 'wrong.toml:3:18' "count: 'x'"
wrong '[limits]\nmemry = "1GiB"\n' 'wrong.toml:2:1' 'did you mean memory?'
wrong 'data = "x"\n[matrix]\norder = ["lba"]\nexclude = [{ order = "lbs" }]\n' 'wrong.toml:4:22' "never 'lbs'" 'did you mean lba?'
wrong 'data = "x"\n[matrix]\ntogether = [{ shuffle = ["none", "full"], window = ["1MiB"] }]\n' 'wrong.toml:3:' '2 values'
wrong 'data = "x"\n[matrix]\nordr = ["lba"]\n' 'wrong.toml:3:1' 'did you mean order?'
wrong '[[data]]\nname = "a"\nmake = { count = 1 }\n' 'workdir'

need_spec_disks
spec 60 "$disk" 'report = "report"'

# --- --dry-run makes nothing ----------------------------------------------------------------------------
call run spec.toml --dry-run --json
expect_status 0
"$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["runs"] == 4 and d["done"] == 0 and d["expected_ns"] is None, d
assert len(d["to_make"]) == 2 and 0 < d["space_needed_bytes"] <= 64 << 20 < d["space_free_bytes"], d
' "$tmp/.out" || die 'the dry run'
[[ ! -e $tmp/work && ! -e $tmp/results.db ]] || die 'a dry run makes something'

# --- from nothing to a report, then nothing is left to be done ------------------------------------------
call run spec.toml
expect_status 0
[ "$(ask 'SELECT label FROM disk')" = "t$$, small" ] || die 'the experiment is not named'
[ -s "$tmp/report/report.html" ] || die 'no report'
nothing_left_of_spec 'a whole run'
made=$(stat -c '%i %y' "$tmp/work/t$$/stamp")
call run spec.toml --report ''
expect_status 0
[ "$(stat -c '%i %y' "$tmp/work/t$$/stamp")" = "$made" ] || die 'the second run made something'
[ "$(ask 'SELECT count(*) FROM run')" = 4 ] || die 'the second run measured something'
[ "$(ask 'SELECT count(*) FROM experiment')" = 1 ] || die 'the second run began another experiment'
call run spec.toml --dry-run --json
"$python" -c 'import json, sys
d = json.load(open(sys.argv[1])); assert d["done"] == 4 and d["to_make"] == [] and d["expected_ns"] == 0, d' \
  "$tmp/.out" || die 'the dry run of what is done'

# --- another setting makes it anew; what was begun and not finished, too --------------------------------
spec 61 "$disk"
call run spec.toml
expect_status 0
[ "$(ask 'SELECT max(samples) FROM run')" = 61 ] || die 'the changed data set was not made'
printf 'blksweep made this 2\nunfinished\n' >"$tmp/work/t$$/stamp"
call run spec.toml --dry-run --json
[[ $out == *'"to_make": ['*"disk t$$"* ]] || die 'half-made passes for whole'

half_made=$(born)

# --- Ctrl-C and kill -9 while it measures ---------------------------------------------------------------
spec 61 "$disk" 'compute = "100ms"
batch = 10'
# stopped_with SIGNAL : a run that has measured something
stopped_with() {
  rm -f "$tmp"/results.db*
  background run spec.toml
  for ((i = 0; i < 400; ++i)); do
    [ "$(ask 'SELECT count(*) FROM run' 2>/dev/null || echo 0)" -lt 1 ] || break
    sleep 0.05
  done
  [ -n "$(left_of_spec)" ] || die "SIG$1: nothing was up"
  [ "$(born)" != "$half_made" ] || die 'what was half made was gone on with'
  kill -"$1" "$pid"
  ended
}
for signal in INT KILL; do
  stopped_with "$signal"
  case $signal in
    INT)
      expect_status 130
      nothing_left_of_spec 'Ctrl-C'
      ;;
    KILL)
      # The next blksweep that starts on this node takes it down: another test's, at once, where both have one /run.
      for _ in {1..5}; do
        [ -z "$(left_of_spec)" ] || break
        stopped_with KILL
      done
      [ -n "$(left_of_spec)" ] || die 'the kill left nothing to be taken down'
      ;;
  esac
  call run spec.toml
  expect_status 0
  no_run_twice
  [ "$(ask 'SELECT count(*) FROM run WHERE incomplete = 0')" = 4 ] || die "SIG$signal: runs are missing"
  [ "$(ask 'SELECT count(*) FROM experiment')" = 1 ] || die "SIG$signal: another experiment"
  nothing_left_of_spec "going on after SIG$signal"
done
echo 'from nothing to a report: fine'
