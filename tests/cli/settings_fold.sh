#!/usr/bin/env bash
# Settings that mean nothing in a cell are not swept there; equal cells are, when somebody names them.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 40
make_catalog "$tmp/data" "$tmp/data.cat"
run() { call run --catalog "$tmp/data.cat" --buffered --no-probe --no-ceiling --json "$@"; }

# A window without a shuffle is one cell; with one it is swept.
run --order random --window 1MiB,2MiB,4MiB
expect_status 0
expect 'one cell, whose window means nothing' 'len(runs) == 1 and run["cell"]["window"] is None'
run --order random --shuffle none,reservoir --window 1MiB,2MiB
expect_status 0
expect 'one unshuffled cell and two windows' '
  sorted(r["cell"]["window"] or "" for r in runs) == ["", "1MiB", "2MiB"]'
run --merge none,file --merge-gap 4KiB,64KiB --order path
expect_status 0
expect 'gaps are bridged where reads are merged' 'len(runs) == 3'
run --order path,chunked --chunk 64KiB,1MiB
expect_status 0
expect 'a chunk is one of chunked' 'len(runs) == 3'
run --copy none,host --device-slots 2,3 --order path
expect_status 0
expect 'slots are of a copy' 'len(runs) == 3'

# One line says what was folded.
said=$("$blksweep" run --catalog "$tmp/data.cat" --buffered --no-probe --no-ceiling --json --order path \
  --window 1MiB,2MiB --merge-gap 4KiB,8KiB 2>&1 >/dev/null | grep -c 'not swept where it means nothing (merge-gap: only with --merge file or device; window: only with --shuffle): 1 cell is left' || true)
[ "$said" = 1 ] || die 'nothing says what was folded'
said=$("$blksweep" run --catalog "$tmp/data.cat" --buffered --no-probe --no-ceiling --json --order path \
  --shuffle reservoir --window 1MiB,2MiB 2>&1 >/dev/null | grep -c 'means nothing' || true)
[ "$said" = 0 ] || die 'a sweep that means something is called folded'

# A window that means nothing is not checked against the samples either.
run --order path --window 1KiB
expect_status 0
run --order path --shuffle buffer --window 1KiB
expect_error 2 '--window'

# Equal cells under two names; every session has its own order of the rounds, and pairs stay within it.
arms() { call run --catalog "$tmp/data.cat" --buffered --no-probe --no-ceiling --arm a,b --order path --db "$tmp/a.db" "$@"; }
arms --repeats 5
expect_status 0
call report "$tmp/a.db" --json
"$python" -c '
import json, sys
a, b = json.load(open(sys.argv[1]))["cells"]
assert (a["cell"]["arm"], b["cell"]["arm"]) == ("a", "b"), (a["cell"], b["cell"])
assert b["ratio"]["pairs"] == 5 and b["split"] == 0 and b["verdict"]["word"], b
' "$tmp/.out" || die 'five rounds of one session are five pairs'
run --arm 'a b'
expect_error 2 '--arm' "'a b'"
run --arm a,b,a
expect_error 2 "--arm: 'a' is named twice" 'a,b'

# A round that is cut off and goes on in another session: its runs are no pair.
"$python" -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("""UPDATE run SET incomplete = 1, incomplete_reason = "cut off"
              WHERE repeat = 4 AND cell_id = (SELECT max(cell_id) FROM cell)""")
db.commit()' "$tmp/a.db"
arms --repeats 5
expect_status 0
call report "$tmp/a.db"
expect_status 0
[[ $out == *'1 round split between sessions'* && $out == *'4 pairs: no interval and no verdict'* ]] ||
  die 'a split round is a pair, or nobody says so'
arms --repeats 6
expect_status 0
call report "$tmp/a.db" --json
"$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
b = d["cells"][1]
assert b["ratio"]["pairs"] == 5 and b["split"] == 1 and b["verdict"]["word"], b
commands = d["experiments"][0]["commands"]
assert len(commands) == 3 and commands[2].endswith("--repeats 6"), commands
' "$tmp/.out" || die 'a further round is a pair'
