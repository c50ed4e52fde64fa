"""What the figure of accuracies concludes: ranks, intervals, and the names of arms."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/figures")]

import experiments as runner  # noqa: E402
import load  # noqa: E402

accuracy = runner.figure_of(ROOT / "scripts/experiments/accuracy.sh")


def arm(policy, mix, *values):
    return {"policy": policy, "window": "-", "label mix": mix, "convolutional": dict(enumerate(values))}


class Numbers(unittest.TestCase):
    def test_the_rank_correlation_is_spearmans(self):
        self.assertEqual(accuracy.ranks([3, 1, 3, 9]), [2.5, 1, 2.5, 4])
        self.assertAlmostEqual(accuracy.rank_correlation([1, 2, 3, 4], [10, 20, 30, 90]), 1)
        self.assertAlmostEqual(accuracy.rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # 1 - 6 sum d^2 / (n (n^2 - 1)), without ties: d = 1, 1, 0, 0.
        self.assertAlmostEqual(accuracy.rank_correlation([1, 2, 3, 4], [2, 1, 3, 4]), 0.8)
        self.assertIsNone(accuracy.rank_correlation([1, 1, 1], [1, 2, 3]))

    def test_one_arm_that_decides_shows_in_the_range_without_it(self):
        arms = [arm("a", 0.1, 50), arm("b", 0.2, 40), arm("c", 0.9, 90)]
        middle, low, high = accuracy.correlations(arms, "convolutional", "label mix")
        self.assertAlmostEqual(middle, 0.5)
        self.assertAlmostEqual(low, -1)
        self.assertAlmostEqual(high, 1)

    def test_intervals_are_students_and_of_pairs_of_a_seed(self):
        mean, half = accuracy.interval([1, 2, 3, 4, 5])
        self.assertEqual(mean, 3)
        self.assertAlmostEqual(half, 2.776 * 2.5**0.5 / 5**0.5)
        self.assertEqual(accuracy.interval([7]), (7, None))
        base = {"convolutional": {1: 90, 2: 80, 3: 70}}
        self.assertEqual(accuracy.lost({"convolutional": {2: 75, 1: 90}}, base, "convolutional"), [5, 0])


class Arms(unittest.TestCase):
    def words(self, disk="hdd, by-class", **settings):
        return accuracy.words(load.Cell(1, "", False, 5, {}, {"disk": disk, "shuffle": "none", "drain": "-", "window": "-", **settings}))

    def test_every_arm_has_a_name_of_its_own(self):
        names = [self.words(order="random"), self.words(order="lba"), self.words("hdd, mixed", order="lba"), self.words(order="chunked"),
                 self.words(order="lba", shuffle="full", window="100%"), self.words(order="elevator", shuffle="buffer", drain="0", window="10%")]
        names += [self.words(order=order, shuffle="buffer", drain=drain, window="10%") for order in ("lba", "chunked") for drain in ("0", "100%")]
        names += [self.words(order=order, shuffle="reservoir", window=window) for order in ("lba", "chunked") for window in ("2%", "10%")]
        self.assertEqual(len(set(names)), 14)

    def test_without_trainings_there_is_nothing_to_draw(self):
        with self.assertRaisesRegex(load.NothingToDraw, "nothing was trained: .*none.accuracy.csv"):
            accuracy.accuracies(pathlib.Path("none.db"))


if __name__ == "__main__":
    unittest.main()
