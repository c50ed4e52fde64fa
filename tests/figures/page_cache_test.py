"""What a cache probe saw, as curves."""
import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / part) for part in ("scripts/figures", "tests/figures")]
import common  # noqa: E402
import load  # noqa: E402
import page_cache  # noqa: E402
import style  # noqa: E402
from load_test import WithDatabase  # noqa: E402


class PageCache(WithDatabase):
    OPTIONS = ["--page-cache", "--consumer", "--no-fio", "--cells", "2", "--repeats", "2"]

    def test_curves_end_at_the_sums_of_the_run(self):
        panels = page_cache.load(self.db, self.cells)
        self.assertEqual(len(panels), 2)
        (added, unwanted, again, evicted, hit), = load.rows(
            self.db, "SELECT added_bytes, unwanted_bytes, again_bytes, evicted_bytes, hit_share FROM page_cache LIMIT 1")
        for panel in panels.values():
            self.assertEqual(panel["hit"], hit)
            ends = {name: panel[name][1][-1] * page_cache.MIB for name in ("wanted", "unwanted", "again", "evicted")}
            self.assertLess(abs(ends["unwanted"] - unwanted), 0.01 * unwanted)
            self.assertLess(abs(ends["again"] - again), 0.01 * again)
            self.assertLess(abs(ends["evicted"] - evicted), 0.01 * evicted)
            self.assertLess(ends["wanted"] + ends["unwanted"], added)
            times, sums = panel["delivered"]
            self.assertEqual((times, sums), (sorted(times), sorted(sums)))

    def test_it_is_drawn_as_a_report_draws_it(self):
        with tempfile.TemporaryDirectory() as folder:
            stem = pathlib.Path(folder) / "page_cache"
            style.use(style.Look())
            text = common.make(page_cache, self.db, self.cells, stem, "What went through the page cache")
            self.assertIn("page_cache", text)
            self.assertIn("50 % hits", stem.with_suffix(".svg").read_text(encoding="utf-8"))

    def test_the_caption_says_what_a_hit_is(self):
        self.assertIn("nobody had to fetch", page_cache.describe(page_cache.load(self.db, self.cells), self.cells))


class WithoutCacheProbe(WithDatabase):
    OPTIONS = ["--no-fio", "--cells", "1", "--repeats", "1"]

    def test_it_is_not_for_these_runs(self):
        with self.assertRaises(load.NotApplicable):
            page_cache.load(self.db, self.cells)


del WithDatabase  # it has no tests of its own

if __name__ == "__main__":
    unittest.main()
