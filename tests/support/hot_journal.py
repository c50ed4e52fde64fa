#!/usr/bin/python3
"""hot_journal.py DB: DB as a process leaves it that is killed in the middle of a transaction.

DB must be there. Its journal, which whoever opens it for writing plays back, lies beside it afterwards.
"""
import os
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE never (text)")
for _ in range(200):  # more than the cache holds: pages and journal go to the disk
    db.execute("INSERT INTO never VALUES (?)", ("x" * 4000,))
os._exit(0 if os.path.getsize(sys.argv[1] + "-journal") > 512 else 1)
