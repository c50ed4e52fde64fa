"""The figure over window size: who is compared with whom, and which windows are on the front."""
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures")]

import compare  # noqa: E402
import load  # noqa: E402
import style  # noqa: E402
import window  # noqa: E402


def cell(number, label="", **settings):
    return load.Cell(number, label, number == 1, 3, {}, {"epochs": "1", **settings})


def ratio(value, low=None, high=None, shown=None):
    return {"value": value, "low": low, "high": high, "n_a": 5, "n_b": 5, "p": None, "shown": shown}


class Windows(unittest.TestCase):
    def test_sizes_are_bytes_and_of_shares_what_they_came_to(self):
        self.assertEqual(window.window_bytes("10%", [100, 300, 200]), 200)
        self.assertEqual(window.window_bytes("2.5%", [25]), 25)
        self.assertEqual(window.window_bytes("64MiB", [1000]), 64 << 20)
        self.assertEqual(window.window_bytes("100B", [1000]), 100)
        self.assertIsNone(window.window_bytes("-", [1000]))

    def test_a_share_of_tiny_samples_stands_behind_a_smaller_size(self):
        """1,000 files of 10 bytes take 512 of the window each."""
        cells = [cell(1, "window 10%", order="lba", window="10%"), cell(2, "window 16KiB", order="lba", window="16KiB")]
        rows = [(1, 1e6, 51_200, 0.2, 0.2), (2, 1e6, 16_384, 0.06, 0.06)]
        with mock.patch.object(load, "rows", return_value=rows):
            _, ((_, line),) = window.load("r.db", cells)
        self.assertEqual([(size, of.cell_id) for size, of, *_ in line], [(16_384, 2), (51_200, 1)])

    def test_only_cells_that_differ_in_their_window_alone(self):
        cells = [cell(1, order="lba", window="10%"), cell(2, order="lba", window="20%"),
                 cell(3, order="random", window="10%"),  # nothing to compare it with
                 cell(4, order="lba", window="-", shuffle="none"), cell(5, order="path", window="10%"),
                 cell(6, order="path", window="4MiB")]
        self.assertEqual([[c.cell_id for c in g] for g in window.groups(cells)], [[1, 2], [5, 6]])
        with self.assertRaises(load.NotApplicable):
            window.load("nothing.db", cells[2:4])

    def test_front_is_what_nothing_beats(self):
        draw = random.Random(3)
        for _ in range(300):
            points = [(draw.randrange(8), draw.randrange(8)) for _ in range(draw.randrange(1, 12))]
            best = window.front(points)
            self.assertEqual(best, sorted(best))
            for p in points:  # by the words of the caption
                beaten = any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)
                self.assertEqual(p in best, not beaten, (points, best))

    def test_names_on_the_front_do_not_meet(self):
        points = [(0.9, 100), (0.91, 99), (0.5, 120)]
        self.assertEqual(window.apart(points[::-1], 120), [(0.9, 100), (0.5, 120)])

    def test_draws_in_both_scales_and_widths(self):
        cells = [cell(n, f"lba + buffer + window {w}", order="lba", window=w) for n, w in ((1, "10%"), (2, "30%"), (3, "90%"))]
        rows = [(c.cell_id, 1e8 / c.cell_id * (1 + r / 10), c.cell_id << 20, 0.3 * c.cell_id, 0.2) for c in cells for r in range(3)]
        for axis in ("linear", "log"):
            for width in (style.SINGLE, style.DOUBLE):
                with mock.patch.object(load, "rows", return_value=rows), tempfile.TemporaryDirectory() as folder:
                    style.use(style.Look(width=width, axis=axis, formats=(".svg",)))
                    loaded = window.load("r.db", cells)
                    fig = window.draw(loaded, cells, None)
                    self.assertEqual({ax.get_yscale() for ax in fig.axes}, {axis, "linear"})
                    style.save(fig, pathlib.Path(folder) / "window")
                    self.assertGreater((pathlib.Path(folder) / "window.svg").stat().st_size, 1000)
                self.assertEqual((loaded[0], loaded[1][0][0]), ("label mix", "lba + buffer"))
                self.assertIn("Pareto", window.describe(loaded, cells))
        style.use(style.Look())


class Comparison(unittest.TestCase):
    def told(self, cells):
        return {"a": "a.db", "b": "<b>.db", "facts": [{"name": "kernel", "a": "6.1", "b": "<script>", "differs": True}],
                "cells": cells, "error_rate": 0.03, "only_a": ["path"], "only_b": []}

    def test_page_says_what_differs_and_escapes_it(self):
        text = compare.build(self.told([]), None)
        for wanted in ("&lt;script&gt;", "&lt;b&gt;.db", "No cell is in both", "path", "t at 97 % covers 95 %"):
            self.assertIn(wanted, text)
        self.assertNotIn("<script>", text)
        self.assertNotIn("covers", compare.build({**self.told([]), "error_rate": 0.05}, None))

    def test_a_ratio_without_an_interval_is_drawn_and_has_no_word(self):
        side = {"cell": {}, "runs": 3, "incomplete": 0, "samples_per_s": 10.0}
        cells = [{"label": "lba", "baseline": True, "a": side, "b": side, "in_both": 0, "ratio": ratio(2.0), "relative_ratio": None},
                 {"label": "path", "baseline": False, "a": side, "b": side, "in_both": 3, "ratio": ratio(2, 1.5, 2.5, True),
                  "relative_ratio": None}]
        self.assertIn("3 runs are in both", compare.build(self.told(cells), None))
        self.assertNotIn("in both:", compare.build(self.told(cells[:1]), None))
        rows = compare.cell_rows(cells)
        self.assertEqual(rows[0][5:8], ("2.000", "–", "baseline"))
        self.assertEqual(rows[1][5:7], ("2.000 [1.500, 2.500]", "differs"))
        fig = compare.draw(cells)
        self.assertLess(fig.axes[0].get_xlim()[0], 1)


if __name__ == "__main__":
    unittest.main()
