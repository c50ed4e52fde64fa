"""Nothing of a figure is cut at its edge."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures")]

import compare  # noqa: E402
import style  # noqa: E402

LONG = "time from the start of the epoch to the first batch, of all that were read (ms)"


class Labels(unittest.TestCase):
    def saved(self, left, right):
        """The extent of a long label under an axis between these shares of the figure, and its width."""
        fig = style.pyplot().figure(figsize=(style.DOUBLE, 2))
        ax = fig.add_axes((left, 0.3, right - left, 0.6))
        ax.set_xlabel(LONG)
        with tempfile.TemporaryDirectory() as folder:
            style.save(fig, pathlib.Path(folder) / "figure")
        fig.canvas.draw()  # at the figure's own resolution again
        return ax.xaxis.label.get_window_extent(), fig.bbox.width

    def test_a_label_wider_than_its_axis_stays_inside_on_either_side(self):
        for left, right in [(0.02, 0.2), (0.8, 0.98)]:
            extent, width = self.saved(left, right)
            self.assertGreaterEqual(extent.x0, 0)
            self.assertLessEqual(extent.x1, width)

    def test_a_label_that_fits_stays_in_the_middle(self):
        extent, width = self.saved(0.1, 0.9)
        self.assertAlmostEqual((extent.x0 + extent.x1) / 2, width / 2, delta=2)

    def test_ratios_within_a_factor_of_two_have_a_tick_at_one_and_others(self):
        for low, high in [(0.64, 1.31), (0.95, 1.05), (0.52, 1.04), (0.96, 2.05), (0.9, 1.07)]:
            axis = style.pyplot().figure().add_subplot().xaxis
            axis.axes.set_xlim(low, high)
            compare.plain_ticks(axis)
            ticks = list(axis.get_majorticklocs())
            self.assertIn(1, ticks)
            self.assertTrue(3 <= len(ticks) <= 7 and low <= min(ticks) and max(ticks) <= high, ticks)


if __name__ == "__main__":
    unittest.main()
