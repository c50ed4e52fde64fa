"""Databases that strangers wrote: long texts, many records and odd times end soon, in a page or a line."""
import argparse
import contextlib
import csv
import io
import os
import pathlib
import sqlite3
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import demo_db as demo  # noqa: E402
import depth  # noqa: E402
import epochs  # noqa: E402
import load  # noqa: E402
import maps  # noqa: E402
import report  # noqa: E402

MOST_CPU_S = 20  # several times what it takes: on a busy machine the clock says nothing
COLUMNS = ["cell_id", "label", "baseline", "runs", "bytes_per_s", "quality_displacement", "setting_order"]


class Hostile(unittest.TestCase):
    OPTIONS = ["--consumer", "--no-probe", "--no-fio", "--cells", "2", "--repeats", "1"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.db = self.out / "results.db"
        demo.main([str(self.db), *self.OPTIONS])
        self.cells = [load.Cell(n, f"cell {n}", n == 1, 1, {}, {}) for n in (1, 2)]

    def change(self, statement, *rows):
        with contextlib.closing(sqlite3.connect(self.db)) as db, db:
            db.executemany(statement, rows or [()])

    def report(self, label="lba"):
        """(exit status, the page, what it said), within MOST_CPU_S."""
        with open(self.out / "cells.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, [1, "random", 1, 1, 1e8, 1, "random"],
                                        [2, label, 0, 1, 1e8, 0, label]])
        begun, said = sum(os.times()[:4]), io.StringIO()
        with contextlib.redirect_stderr(said):
            status = report.main([str(self.db), "-o", str(self.out)])
        self.assertLess(sum(os.times()[:4]) - begun, MOST_CPU_S)
        page = self.out / "report.html"
        return status, page.read_text(encoding="utf-8") if page.exists() else "", said.getvalue()


class Texts(Hostile):
    def test_a_text_is_one_line_of_bounded_length(self):
        self.assertEqual(load.cut("a\nb\x1b[2J\u202ec"), "a b [2J c")
        self.assertEqual(load.cut("é" * load.LONGEST), "é" * load.LONGEST)
        self.assertEqual(load.cut("é" * 10**6), "é" * (load.LONGEST - 1) + "…")

    def test_texts_of_the_database_come_cut(self):
        self.change("UPDATE experiment SET device_model = hex(zeroblob(50000)), "
                    "hostname = hex(zeroblob(2000000))")
        status, page, _ = self.report()
        self.assertEqual(status, 0)
        self.assertNotIn("0" * (load.LONGEST + 1), page)

    def test_commands_and_warnings_keep_more_but_not_all(self):
        self.change("UPDATE session SET argv = hex(zeroblob(2000000))")
        self.change("UPDATE warning SET text = hex(zeroblob(300))")
        _, page, _ = self.report()
        self.assertIn("0" * 600 + "<", page)
        self.assertNotIn("0" * (load.LONGEST_ON_PAGE + 1), page)

    def test_a_label_of_many_characters_or_lines_is_drawn_cut(self):
        for label in ("0" * 15_000_000, "x\n" * 20_000, "W" * 120_000):
            status, page, said = self.report(label)
            self.assertEqual(status, 0, said[-300:])
            self.assertNotIn(label[:load.LONGEST + 1], page)

    def test_many_sessions_are_each_looked_at_once(self):
        self.change("INSERT INTO session (experiment_id, started_unix_ns, argv) VALUES (1, 1, ?)",
                    *((f"x {n}",) for n in range(20_000)))
        self.assertEqual(self.report()[0], 0)


class Records(Hostile):
    def add_depth(self, count):
        begin, epoch = load.rows(self.db, "SELECT begin_ns, epoch_ns FROM run WHERE run_id = 1")[0]
        found = numpy.zeros(count, load.RECORDS["depth"])
        found["at"] = begin + numpy.arange(count) * epoch // count
        found["driver"] = numpy.arange(count) % 7
        self.change("INSERT INTO series VALUES (1, 'depth', ?, ?)", (count, found.tobytes()))

    def test_a_large_series_is_thinned_and_says_so(self):
        self.add_depth(3 * load.MOST_RECORDS + 1)
        (cell, _, seconds, records), = load.first_series(self.db, self.cells, "depth")
        self.assertEqual(cell, 1)
        self.assertLessEqual(len(records), load.MOST_RECORDS)
        self.assertGreater(len(records), load.MOST_RECORDS / 2)
        self.assertLess(numpy.ptp(numpy.diff(seconds)), 1e-8, "chosen evenly, over the ends of pieces too")
        panels = depth.load(self.db, self.cells)
        self.assertEqual({(low, high) for _, low, _, high in panels[1][1]}, {(0, 6)})
        self.assertIn("at most 2,000,000 samples", depth.describe(panels, self.cells))

    def test_bins_hold_least_mean_and_greatest(self):
        seconds, values = numpy.array([0.0, 0.001, 1.0]), numpy.array([4, 8, 2], "<u4")
        self.assertEqual([row[1:] for row in depth.envelope(seconds, values, 1.0)], [(4, 6, 8), (2, 2, 2)])

    def test_times_of_a_series_at_the_ends_of_64_bits(self):
        self.change("UPDATE run SET begin_ns = 9223372036854775807 WHERE run_id = 1")
        found = numpy.array([(-2**63, 1, 1), (2**63 - 1, 2, 2)], load.RECORDS["depth"])
        self.change("INSERT INTO series VALUES (1, 'depth', 2, ?)", (found.tobytes(),))
        (_, _, seconds, _), = load.first_series(self.db, self.cells, "depth")
        self.assertEqual(seconds.tolist(), [0.0])

    def test_a_map_of_very_many_distances_is_not_drawn(self):
        reads = numpy.zeros(maps.MOST_DISTANCES + 1, maps.READ)
        reads["distance"] = 1 + numpy.arange(len(reads))
        with self.assertRaises(load.NothingToDraw):
            maps.by_distance(reads)


class Times(Hostile):
    def test_a_run_whose_batches_have_no_order_is_named(self):
        self.change("DELETE FROM batch_stage WHERE stage = 'copy'")
        for statement in ("UPDATE batch_stage SET begin_ns = 100000000000000000 WHERE stage = 'compute'",
                          "UPDATE batch_stage SET begin_ns = 100000000000000000 WHERE stage = 'read'"):
            self.change(statement)
            status, page, said = self.report()
            self.assertEqual(status, 0, said)
            self.assertIn("no batch of run 1, 2 was copied or used at times that are in order", page)

    def test_batches_that_all_overlap_are_drawn_in_a_bounded_number_of_rows(self):
        spans = [(0.0, 1e9 + n, n) for n in range(100_000)]
        self.assertEqual(len(epochs.rows(spans)), epochs.MOST_ROWS)
        self.assertEqual(len(epochs.rows([(n, n, n) for n in range(100_000)])), epochs.MOST_SPANS)

    def test_a_figure_that_fails_says_of_which_database(self):
        normal, report.FIGURES = report.FIGURES, [("odd", "Odd", None)]
        self.addCleanup(setattr, report, "FIGURES", normal)
        status, _, said = self.report()
        self.assertEqual(status, 1)
        last = said.strip().split("\n")[-1]
        self.assertTrue(last.startswith(f"{self.db}: figure odd: AttributeError"), last)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    unittest.main()
