#!/usr/bin/python3
"""Prints how much of each run's copying was not hidden behind computing, from the account stored with it.

usage: scripts/exposed_copy.py RESULTS.db
One line per run with a copy stage: staging, epoch time, time that the copy lane was busy (registering, gathering
and giving back included), exposed copying as a share of the epoch, utilisation, CPU time per part copied.
exit: 0 done, 1 the database cannot be read.
"""

import sqlite3
import sys

QUERY = """
SELECT epoch_ns, value, busy_ns, exposed_ns, utilisation, cpu_ns * 1.0 / nullif(parts, 0)
FROM account_lane JOIN run USING (run_id) JOIN cell_setting USING (cell_id) LEFT JOIN copy_cost USING (run_id)
WHERE lane = 'copy' AND name = 'staging' ORDER BY run_id
"""


def line(epoch, staging, busy, exposed, utilisation, cpu_per_part):
    bar = "exposed <= 1 %" if staging == "pinned" else ""
    used = "-" if utilisation is None else f"{utilisation:.3f}"
    cpu = "-" if cpu_per_part is None else f"{cpu_per_part / 1e3:.2f} us"
    return (f"epoch, {staging:<10} {epoch / 1e6:9.1f} ms, copying {busy / 1e6:8.1f} ms,"
            f" exposed {100 * exposed / epoch:6.2f} %, utilisation {used}, CPU per part {cpu}  {bar}").rstrip()


def main(argv: list[str]) -> int:
    try:
        with sqlite3.connect(f"file:{argv[0]}?mode=ro", uri=True) as db:
            runs = db.execute(QUERY).fetchall()
    except (IndexError, sqlite3.Error) as error:
        print(f"exposed_copy: {error}", file=sys.stderr)
        return 1
    for run in runs:
        print(line(*run))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
