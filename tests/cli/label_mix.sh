#!/usr/bin/env bash
# --label-mix: the window that plan finds is the one that a scan of plans finds, and simulate takes it.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

cd "$tmp"
call dataset make data --count 600 --size uniform:1KiB-9KiB --classes 6
make_catalog data data.cat
cell=(--order lba --merge none --batch 30)

call plan data.cat "${cell[@]}" --shuffle buffer --label-mix 0.9 --seed 4 --repeats 3 --json
expect_status 0
printf '%s' "$out" >found.json
# Plan by plan: one window and one seed each, as a user would look for it by hand.
"$python" - "$blksweep" "${cell[@]}" <<'PY' || die 'not the window that a scan finds'
import json, subprocess, sys
blksweep, *cell = sys.argv[1:]
found, = json.load(open("found.json"))["windows"]
def mean(window):
    values = []
    for seed in ("4", "5", "6"):
        done = subprocess.run([blksweep, "-q", "plan", "data.cat", *cell, "--shuffle", "buffer", "--window", window,
                               "--seed", seed, "--json"], capture_output=True, check=True, text=True)
        values.append(json.loads(done.stdout)["plans"][0]["shuffle_quality"]["label_mix"])
    return sum(values) / 3
tried = found["tried"]
assert len(tried) > 5
for step in tried:
    assert abs(mean(step["window"]) - step["label_mix"]) < 1e-12, step
    assert step["low"] <= step["label_mix"] <= step["high"] and step["least"] <= step["label_mix"]
assert [s for s in tried if s["label_mix"] >= 0.9] == tried[:-1] and tried[-1]["label_mix"] < 0.9
assert found["smallest"] == tried[-2] and found["cell"]["shuffle"] == "buffer"
PY
window=$("$python" -c 'import json; print(json.load(open("found.json"))["windows"][0]["smallest"]["window"])')

call plan data.cat "${cell[@]}" --label-mix 0.9 --seed 4 --repeats 3
expect_status 0
[[ $out == *"buffer"*" $window "*"reservoir"*'mean label mix of 0.9 over seeds 4 to 6'* ]] || die 'the table does not say it'

# simulate predicts with that window.
call simulate data.cat --model hdd-7200 "${cell[@]}" --shuffle buffer --label-mix 0.9 --json
expect_status 0
first=$out
window=$(printf '%s' "$out" | "$python" -c '
import json, sys
print(json.load(sys.stdin)["predictions"][0]["cell"]["window"])')
[[ $first == *"a window of $window"* ]] || die 'simulate does not say which window it took'
call simulate data.cat --model hdd-7200 "${cell[@]}" --shuffle buffer --window "$window" --json
[ "$(printf '%s' "$first" | grep -c label_mix)" -gt 0 ] || die 'simulate has no shuffle quality'
"$python" - "$first" "$out" <<'PY' || die 'simulate predicts something else with --label-mix than with its window'
import json, sys
a, b = (json.loads(t)["predictions"] for t in sys.argv[1:])
assert a == b and a[0]["shuffle_quality"]["label_mix"] > 0.8
PY

call plan data.cat "${cell[@]}" --shuffle buffer --label-mix 1 --repeats 20 --json
expect_status 3
[[ $out == *'"smallest": null'* || $out == *'"smallest":null'* ]] || die 'what nothing reaches has no window'
call plan data.cat --label-mix 95 --shuffle buffer
expect_error 2 "--label-mix" "'95'"
call plan data.cat --label-mix 0.9 --shuffle none
expect_error 2 '--shuffle buffer or reservoir'
call plan data.cat --label-mix 0.9 --shuffle buffer --window 10%
expect_error 2 'without --window'
call plan data.cat --repeats 3
expect_error 2 '--repeats' '--label-mix'
call simulate data.cat --model hdd-7200 --label-mix 0.9 --window 10%
expect_error 2 'without --window'
call dataset make one --count 60 --size 1KiB --classes 1
make_catalog one one.cat
call plan one.cat --label-mix 0.9 --shuffle buffer
expect_error 2 'nothing to mix'
