#!/usr/bin/env bash
# --repeats auto: rounds until intervals are narrow, at most so many or so long; what is stored, said and
# printed of it; a start that goes on.
# Side by side: no time is looked at, and files are read from memory.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 20
db=$tmp/results.db
sweep=(run --data "$tmp/data" --arm "a,b" --buffered --engine psync --compute 20ms --no-probe --no-ceiling)
ask() { sqlite3 "$db" "$1"; }

# --- what is refused -----------------------------------------------------------------------------------
for option in '--precision 3%' '--repeats-max 20' '--time-limit 3s'; do
  read -r -a words <<<"$option"
  call "${sweep[@]}" --repeats 3 "${words[@]}"
  expect_error 2 "${words[0]}" 'only with --repeats auto'
done
call "${sweep[@]}" --repeats auto --precision 3
expect_error 2 --precision "'3'" 3%
call "${sweep[@]}" --repeats auto --repeats-max 9
expect_error 2 --repeats-max "'9'" 10
call "${sweep[@]}" --repeats auto --time-limit 0
expect_error 2 --time-limit
call "${sweep[@]}" --repeats often
expect_error 2 --repeats "'often'"

# --- precise enough after the pilot --------------------------------------------------------------------
call "${sweep[@]}" --repeats auto --precision 99% --db "$db" --json
expect_status 0
expect 'at least a pilot of ten rounds' "20 <= len(runs) < 200 and len(runs) == 2 * doc['stopping']['rounds']"
expect 'why it ended' "doc['stopping']['reason'] == 'precision'"
expect 'how precise' "doc['stopping']['precision'] == 0.99 and doc['stopping']['half_width'] <= 0.99"
[ "$(ask 'SELECT reason, intervals, reached FROM stopping')" = 'precision|1|1' ] ||
  die "stored: $(ask 'SELECT * FROM stopping')"
first=$(ask 'SELECT rounds FROM stopping')

# --- the same again measures nothing, a finer one goes on in the same experiment -----------------------
"$blksweep" "${sweep[@]}" --repeats auto --precision 99% --db "$db" >"$tmp/.out" 2>"$tmp/.err"
grep -q 'nothing was measured; a --precision below 99%' "$tmp/.err" || die "$(cat "$tmp/.err")"
"$blksweep" "${sweep[@]}" --repeats auto --precision 0.0001% --repeats-max $((first + 2)) --db "$db" >"$tmp/.out" 2>"$tmp/.err"
[ "$(ask 'SELECT count(*) FROM experiment')" = 1 ] || die 'another precision is another experiment'
[ "$(ask 'SELECT count(*), max(repeat) FROM run')" = "$((2 * first + 4))|$((first + 1))" ] ||
  die "$(ask 'SELECT count(*), max(repeat) FROM run')"
grep -q "$((first + 2)) rounds (--repeats auto): 0 of 1 intervals within 0.0001 %, the widest .* (.* / .*); --repeats-max .* was" \
  "$tmp/.out" || die "foot: $(cat "$tmp/.out")"
grep -q "Student's t at 97 % covers 95 % then" "$tmp/.out" || die "foot: $(cat "$tmp/.out")"
grep -q 'widest interval within .*, 0 of 1 within 0.0001 %, about 1 more' "$tmp/.err" || die "$(cat "$tmp/.err")"

# --- no longer than that, but a whole round; a spec says the same --------------------------------------
printf 'repeats = "auto"\nprecision = "0.0001%%"\ntime-limit = "1ns"\n' >"$tmp/spec.toml"
call "${sweep[@]}" "$tmp/spec.toml" --seed 7 --db "$db" --json
expect_status 0
expect 'one round' "len(runs) == 2 and doc['stopping']['reason'] == 'time-limit'"
call "${sweep[@]}" "$tmp/spec.toml" --repeats 2 --seed 8 --json
expect_status 0
expect 'a number takes the rule of a file away' "len(runs) == 4 and doc['stopping'] is None"

# --- the report says it --------------------------------------------------------------------------------
call report "$db" --experiment 1 --json
expect_status 0
expect 'of the experiment' "doc['experiments'][0]['stopping']['reason'] == 'repeats-max'"
call report "$db" --experiment 1
expect_status 0
[[ $out == *"$((first + 2)) rounds (--repeats auto)"* ]] || die 'the report does not say how rounds ended'
widest=$(ask 'SELECT widest FROM stopping ORDER BY session_id LIMIT 1')
[[ $out == *"($widest)"* && $widest == *' / '* ]] || die 'a table may have another baseline than the rounds had'

# --- killed: the rounds that are stored count ----------------------------------------------------------
"$blksweep" --quiet "${sweep[@]}" --seed 9 --repeats auto --precision 0.0001% --repeats-max 60 --db "$db" \
  >/dev/null 2>&1 </dev/null &
pid=$!
rounds() { ask "SELECT coalesce(max(rounds), 0) FROM stopping WHERE session_id = (SELECT max(session_id) FROM session)"; }
for ((i = 0; i < 600; ++i)); do
  [ "$(rounds 2>/dev/null || echo 0)" -lt 8 ] || break
  sleep 0.02
done
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
killed=$(rounds)
((killed >= 8 && killed < 60)) || die "killed too late: after $killed rounds of 60"
[ -z "$(ask 'SELECT reason FROM stopping ORDER BY session_id DESC LIMIT 1')" ] || die 'a reason beside a kill'
call "${sweep[@]}" --seed 9 --repeats auto --precision 0.0001% --repeats-max $((killed + 3)) --db "$db" --json
expect_status 0
expect 'the rest of the rounds' "doc['stopping']['rounds'] == $killed + 3 and 4 <= len(runs) <= 6"
expect 'after the last that was begun' "min(r['repeat'] for r in runs) >= $killed"
echo 'repeats auto: fine'
