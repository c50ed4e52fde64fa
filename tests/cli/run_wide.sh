#!/usr/bin/env bash
# The view run_wide: what a study in pandas reads, one row per run and one column per setting.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 60
cd "$tmp"
call run --data data --order random,lba --shuffle none,buffer --window 50% --depth 1,16 --repeats 2 \
  --no-probe --no-ceiling --db r.db
expect_status 0
"$python" - <<'PY' || die 'run_wide is not what the tables say'
import sqlite3
db = sqlite3.connect("r.db")
db.row_factory = sqlite3.Row
rows = db.execute("SELECT * FROM run_wide ORDER BY run_id").fetchall()
assert len(rows) == 16 == db.execute("SELECT count(*) FROM run").fetchone()[0]
for row in rows:
    stored = dict(db.execute("SELECT name, value FROM cell_setting WHERE cell_id = ?", (row["cell_id"],)))
    wide = {k[4:].replace("_", "-"): row[k] for k in row.keys() if k.startswith("set_")}
    for name, value in stored.items():  # every stored setting has its column
        assert (wide[name] is None) if value == "-" else (str(wide[name]) == value), (name, value, wide[name])
    assert all(wide[name] is None for name in wide.keys() - stored.keys())
    assert isinstance(row["set_depth"], int) and row["counted"] == 1
    assert abs(row["samples_per_s"] - row["samples"] * 1e9 / row["epoch_ns"]) < 1e-6
    assert row["hostname"] and row["experiment_id"] == 1
assert {(r["set_order"], r["set_shuffle"], r["set_window"]) for r in rows} == {
    (o, s, w) for o in ("random", "lba") for s, w in (("none", None), ("buffer", "50%"))}
PY
