"""The parts of the strategies figure that compute; the drawing is tested by tests/cli/pack.sh."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "figures"))

import load
import strategies


def cell(disk, limit="none"):
    return load.Cell(1, disk, False, 3, {}, {"disk": disk, "bandwidth-limit": limit})


class BusyByBin(unittest.TestCase):
    def test_covers_exactly_what_the_spans_cover(self):
        for spans in ([], [(0, 1000)], [(0, 1)], [(13, 14), (14, 700), (999, 1000)]):
            shares = strategies.busy_by_bin(0, 1000, spans)
            self.assertAlmostEqual(sum(shares) * 1000 / strategies.BINS, sum(b - a for a, b in spans))
            self.assertTrue(all(0 <= s <= 1 + 1e-9 for s in shares))

    def test_a_span_lies_in_its_own_bins(self):
        shares = strategies.busy_by_bin(100, 2000, [(150, 250)])
        self.assertEqual([round(s, 9) for s in shares[:3]], [0.5, 0.5, 0])


class Words(unittest.TestCase):
    def test_steps_are_disks_that_begin_with_a_number(self):
        self.assertEqual(strategies.step_of(cell("3 fp16 zstd")), (3, "fp16 zstd"))
        self.assertIsNone(strategies.step_of(cell("nvme0n1")))

    def test_other_experiments_have_no_such_figure(self):
        with self.assertRaises(load.NotApplicable):
            strategies.load("no.db", [cell("nvme0n1"), cell("sda")])


if __name__ == "__main__":
    unittest.main()
