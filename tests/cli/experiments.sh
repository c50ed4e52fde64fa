#!/usr/bin/env bash
# The runner of experiments: every experiment parses in both forms and has what its page needs; a small one goes from
# nothing to a page, is not measured twice, goes on where it was cut off, and does not hide one that fails.
# Side by side: neither caches nor times are looked at, and nothing of the node is changed.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
export BLKSWEEP=$blksweep
runner=$(realpath "$(dirname "$0")/../../scripts/experiments.py")
have_modules matplotlib numpy || skip 'needs python3-matplotlib'

# experiments ARGUMENT... : the runner on the experiments of this test
experiments() {
  status=0
  "$runner" --home "$tmp/home" --out "$tmp/made" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out") err=$(tail -n 20 "$tmp/.err")
}
runs() { sqlite3 "$tmp/made/tiny/results.db" 'SELECT count(*) FROM run'; }

# --- what there is ---------------------------------------------------------------------------------------
"$python" - "$runner" "$tmp" <<'PY' || die 'an experiment lacks something'
import importlib.util, pathlib, sys, tomllib
spec = importlib.util.spec_from_file_location("experiments", sys.argv[1])
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
home = pathlib.Path(sys.argv[1]).parent / "experiments"
names = runner.names(home)
assert len(names) >= 6, names
for name in names:
    by = runner.measured_by(home, name)
    figure = runner.figure_of(by)
    for text in ("TITLE", "REPORTED"):
        assert getattr(figure, text).strip(), f"{name}: no {text}"
    for does in ("load", "draw", "describe", "found"):
        assert callable(getattr(figure, does)), f"{name}: no {does}()"
    if by.suffix == ".toml":
        quick, full = (runner.text_of(by, form) for form in (False, True))
        assert tomllib.loads(full) != tomllib.loads(quick), f"{name}: the full form is the quick one"
        for form, text in (("quick", quick), ("full", full)):
            pathlib.Path(sys.argv[2], f"{name}.{form}.toml").write_text(text)
PY
for spec in "$tmp"/*.toml; do
  call run "$spec" --db "$tmp/none.db" --workdir "$tmp/none" --peer-data "$tmp/none" --dry-run
  # 77: a peer's packages, root or memory for its disk are not here; the spec was understood.
  expect_status 0 77
done
[ ! -e "$tmp/none.db" ] || die 'a dry run makes something'

# --- a small one -----------------------------------------------------------------------------------------
mkdir "$tmp/home"
tiny() { # COMPUTE
  cat >"$tmp/home/tiny.toml" <<TOML
repeats = 2
probe = false
ceiling = false
batch = 10
compute = "$1"
[[data]]
name = "files"
make = { count = 40, size = "4KiB" }  # full: { count = 50, size = "4KiB" }
[matrix]
depth = [1, 4]
TOML
}
cat >"$tmp/home/tiny.py" <<'PY'
import curves
import style
TITLE, REPORTED = "Tiny", "Nothing."
def load(db, cells):
    rates = curves.by_round(db, cells, "samples")
    return {int(c.settings["depth"]): list(rates[c.cell_id].values()) for c in cells}
def draw(loaded, cells, facts):
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 2), layout="constrained")
    curves.line(ax, loaded, 1, "a line")
    return fig
def describe(loaded, cells):
    return curves.spread_text(loaded.values())
def found(loaded, cells):
    return f"{sorted(loaded.items())}"
PY
tiny 1ms
experiments
expect_status 0
page=$tmp/made/experiments.md
grep -qF '[(1, [40, 40]), (4, [40, 40])]' "$page" || die "the page does not say what was found: $(cat "$page")"
grep -qF '(n = 2 repeats)' "$page" || die 'the caption has no n'
grep -qF 'tiny.toml' "$page" || die 'the page does not name the spec'
[ "$(head -c 4 "$tmp/made/experiments/tiny.png" | tail -c 3)" = PNG ] || die 'no figure beside the page'
[ -s "$tmp/made/tiny/figure.pdf" ] || die 'no figure for a paper'
[ ! -e "$tmp/made/tiny/work" ] || die 'its data stay'
experiments --publish "$tmp/docs"
expect_status 0
[ "$(runs)" = 4 ] || die 'what is measured was measured again'
cmp -s "$page" "$tmp/docs/experiments.md" || die 'the page was not copied'

# Another spec, or the full form: the results of before are kept beside it.
experiments --full tiny
expect_status 0
grep -qF '50, 50' "$page" || die 'the full form has the quick sizes'
grep -q 'ONLY=tiny FULL=1' "$page" || die 'the command is not that of the full form'
[ -s "$tmp/made/tiny.old/results.db" ] || die 'the results of before are gone'

# --- cut off: it goes on; one that fails does not keep the others ------------------------------------------
tiny 200ms
"$runner" --home "$tmp/home" --out "$tmp/made" tiny >"$tmp/.out" 2>"$tmp/.err" </dev/null &
runner_pid=$!
for _ in $(seq 200); do
  ! grep -qs 200ms "$tmp/made/tiny/made-from.toml" || [ "$(runs 2>/dev/null || echo 0)" = 0 ] || break
  sleep 0.05
done
kill -TERM "$runner_pid"
status=0
wait "$runner_pid" || status=$?
err=$(cat "$tmp/.err")
expect_status 130
kept=$(runs)
((kept >= 1 && kept < 4)) || die "$kept runs before the end of the interruption"
cp "$tmp/home/tiny.py" "$tmp/home/bad.py"
echo 'ordr = "lba"' >"$tmp/home/bad.toml"
experiments
expect_status 1
[[ $err == *'did you mean order?'* ]] || die 'it does not say why one failed'
[ "$(sqlite3 "$tmp/made/tiny/results.db" 'SELECT count(*) FROM good_run')" = 4 ] || die 'it did not go on'
[ "$(sqlite3 "$tmp/made/tiny/results.db" 'SELECT min(run_id) FROM good_run')" = 1 ] || die 'it began anew'
experiments nothing
expect_status 2
[[ $err == *"no experiment 'nothing': there are bad, tiny"* ]] || die 'an unknown name'
