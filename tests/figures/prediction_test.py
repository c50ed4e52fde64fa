"""The figure of predicted against measured epochs: which prediction counts, and how many there are."""
import pathlib
import sqlite3
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / part) for part in ("scripts/figures", "tests/figures")]
import load  # noqa: E402
import prediction  # noqa: E402
from load_test import WithDatabase  # noqa: E402


class Predicted(WithDatabase):
    OPTIONS = ["--predict", "--repeats", "2", "--no-probe"]

    def test_every_run_is_a_point(self):
        found = prediction.load(self.db, self.cells)
        self.assertEqual({len(v) for v in found["points"].values()}, {2})
        self.assertEqual(found["models"], ["hdd-7200"])
        self.assertIn("of 16 runs within 15%", prediction.describe(found, self.cells))

    def test_the_newest_prediction_of_a_run_counts(self):
        with sqlite3.connect(self.db) as db:
            run = db.execute("SELECT min(run_id) FROM run WHERE cell_id = 1").fetchone()[0]
            db.execute("INSERT INTO prediction (run_id, model, model_hash, epoch_ns, requests) "
                       "VALUES (?, 'other', '', 5000000000, 1)", [run])
        found = prediction.load(self.db, self.cells)
        self.assertEqual(len(found["points"][1]), 2)
        self.assertIn(5.0, [predicted for _, predicted in found["points"][1]])

    def test_the_legend_counts_runs_that_have_one(self):
        found = prediction.load(self.db, self.cells[:1])
        found["points"] = {cell: points[:1] for cell, points in found["points"].items()}
        self.assertEqual(self.cells[0].runs, 3)
        names = prediction.draw(found, self.cells[:1], None).axes[0].get_legend().get_texts()
        self.assertIn("(n=1)", names[-1].get_text())

    def test_a_band_counts_errors_in_both_directions(self):
        points = {1: [(1.0, 1.149), (1.0, 0.851)], 2: [(1.0, 1.16), (1.0, 0.84)]}
        self.assertEqual(prediction.within(points), (2, 4))


class WithoutPrediction(WithDatabase):
    OPTIONS = ["--repeats", "1", "--no-probe", "--no-fio"]

    def test_the_figure_is_not_applicable(self):
        with self.assertRaises(load.NotApplicable):
            prediction.load(self.db, self.cells)


if __name__ == "__main__":
    unittest.main()
