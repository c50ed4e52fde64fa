#!/usr/bin/python3
"""Makes a table, or adds up a column of it: sqlite_scan.py make|scan FILE"""

import random
import sqlite3
import sys


def make(path):
    draw = random.Random(1)
    with sqlite3.connect(path) as db:
        db.execute("create table t(id integer primary key, x integer, text blob)")
        rows = ((i, draw.randrange(1000), draw.randbytes(400)) for i in range(20000))
        db.executemany("insert into t values(?, ?, ?)", rows)


def scan(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        print(db.execute("select sum(x) from t").fetchone()[0])


if __name__ == "__main__":
    {"make": make, "scan": scan}[sys.argv[1]](sys.argv[2])
