#!/usr/bin/env bash
# What a second epoch finds: a window that drains before it is filled again, its own window filled during or after the
# first epoch, caches dropped in part, and files in the holes of an aged filesystem.
# Side by side: on disks of its own; what was read is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/spec_helpers.bash
. "$(dirname "$0")/spec_helpers.bash"

# --- the window ----------------------------------------------------------------------------------
make_data "$tmp/set" 200
two() { call run --data "$tmp/set" --no-probe --no-ceiling --json --verify --batch 8 --epochs 2 "$@"; }
two --shuffle buffer --window 20% --drain 0,50%,100%
expect_status 0
expect 'a drain is a cell of its own, emits in another order, and gives every sample twice' \
  'len({r["emission_hash"] for r in runs}) == 3 and all(r["samples"] == 400 and r["wrong_samples"] == 0 for r in runs)'
expect 'the cell has no drain' '{r["cell"]["drain"] for r in runs} == {0, "50%", "100%"}'
two --shuffle buffer,reservoir,none --window 20% --next-epoch during,after
expect_status 0
expect 'when the next epoch is read changes what is emitted' \
  'all(len({r["emission_hash"] for r in runs if r["cell"]["shuffle"] == s}) == 1 for s in ("buffer", "reservoir", "none"))'
expect 'both are cells' 'sorted(r["cell"]["next-epoch"] for r in runs) == ["after"] * 3 + ["during"] * 3'
two --shuffle reservoir --drain 10%,20%
expect 'a drain means nothing in a reservoir' 'len(runs) == 1 and runs[0]["cell"]["drain"] in (None, "-")'
two --shuffle buffer --drain 101%
expect_error 2 --drain "'101%' is not a share"
two --next-epoch before
expect_error 2 --next-epoch "'before' is not one of during, after"

# --- caches and an aged disk ---------------------------------------------------------------------
need_spec_disks
cd "$tmp"
unset TMPDIR
spec() { # AGED
  cat >spec.toml <<TOML
db = "results.db"
workdir = "work"
probe = false
ceiling = false
cache = ["drop-1", "drop-2", "warm"]
order = "path"
[[disk]]
name = "new"
size = "64MiB"
[[disk]]
name = "old"
size = "64MiB"
aged = "$1"
[[data]]
name = "large"
make = { count = 20, size = "512KiB" }
TOML
}
spec 97%
call run spec.toml
expect_error 2 spec.toml aged "'97%': 95 % and more leaves no holes for data"
spec 60%
call run spec.toml --json
expect_status 0
expect 'a run is not whole' 'all(not r["incomplete"] and r["samples"] == 20 for r in runs)'
expect 'pages that were dropped are resident' 'all(r["resident_before"] == 0 for r in runs if r["cell"]["cache"] == "drop-1")'
[ "$(ask 'SELECT count(*) FROM experiment')" = 2 ] || die 'not two sites'
# A read goes for each extent: more where files lie in holes.
reads() { ask "SELECT max(reads_submitted) FROM run JOIN cell USING (cell_id) WHERE experiment_id = $1"; }
new=$(reads 1)
old=$(reads 2)
[ "$old" -gt $((2 * new)) ] || die "an aged disk has files in $old reads, a new one in $new"
nothing_left_of_spec 'after the run'
