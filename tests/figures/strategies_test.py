"""The parts of the strategies figure that compute; the drawing is tested by tests/cli/strategies.sh."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "figures"))

import load
import strategies


def cell(disk, limit="none"):
    return load.Cell(1, disk, False, 3, {}, {"disk": disk, "bandwidth-limit": limit})


class Words(unittest.TestCase):
    def test_steps_are_disks_that_begin_with_a_number(self):
        self.assertEqual(strategies.step_of(cell("3 fp16 zstd")), (3, "fp16 zstd"))
        self.assertIsNone(strategies.step_of(cell("nvme0n1")))

    def test_other_experiments_have_no_such_figure(self):
        with self.assertRaises(load.NotApplicable):
            strategies.load("no.db", [cell("nvme0n1"), cell("sda")])


if __name__ == "__main__":
    unittest.main()
