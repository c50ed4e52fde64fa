"""What a cache probe saw of inodes, as rates."""
import pathlib
import sqlite3
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / part) for part in ("scripts/figures", "tests/figures")]
import common  # noqa: E402
import inodes  # noqa: E402
import load  # noqa: E402
import style  # noqa: E402
from load_test import WithDatabase  # noqa: E402


class Inodes(WithDatabase):
    OPTIONS = ["--page-cache", "--no-fio", "--cells", "2", "--repeats", "2"]

    def test_rates_times_time_are_the_sums_of_the_run(self):
        panels = inodes.load(self.db, self.cells)
        self.assertEqual(len(panels), 2)
        (loaded, evicted, freed, epoch), = load.rows(
            self.db, "SELECT inodes_loaded, inodes_evicted, shrinker_freed, epoch_ns / 1e9 FROM page_cache "
            "JOIN good_run USING (run_id) ORDER BY run_id LIMIT 1")
        panel = panels[self.cells[0].cell_id]
        for name, count in (("inodes_loaded", loaded), ("inodes_evicted", evicted), ("shrinker_freed", freed)):
            begins, rates = panel[name]
            self.assertEqual(len(begins), inodes.BINS)
            self.assertAlmostEqual(sum(rates) * epoch / inodes.BINS / count, 1, delta=0.02)

    def test_what_the_kernel_does_not_tell_is_no_curve_at_zero(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "results.db"
            copy.write_bytes(pathlib.Path(self.db).read_bytes())
            with sqlite3.connect(copy) as db:
                db.execute("UPDATE page_cache SET inodes_evicted = NULL")
            panel = inodes.load(copy, self.cells)[self.cells[0].cell_id]
            self.assertIsNone(panel["inodes_evicted"])
            self.assertIsNotNone(panel["inodes_loaded"])

    def test_warm_runs_have_no_such_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "results.db"
            copy.write_bytes(pathlib.Path(self.db).read_bytes())
            with sqlite3.connect(copy) as db:
                db.execute("UPDATE page_cache SET inodes_loaded = 0, inodes_evicted = 0, shrinker_freed = NULL")
            with self.assertRaises(load.NotApplicable):
                inodes.load(copy, self.cells)

    def test_it_is_drawn_as_a_report_draws_it(self):
        with tempfile.TemporaryDirectory() as folder:
            stem = pathlib.Path(folder) / "inodes"
            style.use(style.Look())
            self.assertIn("shrinkers", common.make(inodes, self.db, self.cells, stem, "Inodes"))
            self.assertIn("inodes given up", stem.with_suffix(".svg").read_text(encoding="utf-8"))


del WithDatabase  # it has no tests of its own

if __name__ == "__main__":
    unittest.main()
