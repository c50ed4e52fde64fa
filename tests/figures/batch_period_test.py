"""Periods of waiting: found where workers end together, not where waits are noise."""
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/figures"))

import batch_period as bp  # noqa: E402


def workers(count, batches, draw):
    """[(arrived, consumed)] of workers that take batches in turn; each is consumed as soon as it can be."""
    done, out, available = [0.0] * count, [], 0.0
    for b in range(batches):
        done[b % count] += draw()
        available = max(available, done[b % count])
        out.append((done[b % count], available))
    return out


class Waits(unittest.TestCase):
    def test_is_what_the_consumer_waited_for_batches_in_order(self):
        # The second arrives before the first, the third while the second is used, the last one late.
        self.assertEqual(bp.waits([(10, 15), (5, 30), (20, 40), (50, 60)], 0), [10, 0, 0, 10])

    def test_equal_values_share_a_rank(self):
        self.assertEqual(bp.ranks([3, 1, 3, 0]), [2.5, 1, 2.5, 0])

    def test_equal_waits_have_no_correlation(self):
        self.assertEqual(bp.autocorrelation([1, 1, 1], 1), 0)


class Period(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(1)

    def found(self, count, jitter, batches=200):
        return bp.period(bp.waits(workers(count, batches, lambda: self.rng.gauss(1, jitter)), 0), count)

    def test_workers_leave_one_at_their_number(self):
        for count in (2, 3, 4, 8):
            for jitter in (0, 0.01, 0.05):
                with self.subTest(workers=count, jitter=jitter):
                    self.assertTrue(self.found(count, jitter)["periodic"])

    def test_one_long_wait_does_not_hide_it(self):
        times = bp.waits(workers(4, 200, lambda: self.rng.gauss(1, 0.02)), 0)
        times[90] = 1000
        self.assertTrue(bp.period(times, 4)["periodic"])

    def test_noise_has_one_seldom(self):
        wrong = sum(bp.period([self.rng.expovariate(1) for _ in range(200)], 4)["periodic"] for _ in range(500))
        self.assertLessEqual(wrong, 5)  # three standard errors, one-sided: about 0.7 expected

    def test_another_period_is_not_taken_for_it(self):
        times = bp.waits(workers(3, 300, lambda: self.rng.gauss(1, 0.02)), 0)
        self.assertFalse(bp.period(times, 4)["periodic"])
        self.assertFalse(bp.period(times, 6)["periodic"], "a multiple is no period of its own")

    def test_too_few_batches_say_nothing(self):
        self.assertIsNone(bp.period([1.0] * 10, 4))
        self.assertIsNone(bp.period([1.0] * 100, 1))

    def test_workers_are_read_from_the_cell(self):
        self.assertEqual(bp.workers_of({"order": "random", "reader": "workers:4"}), 4)
        self.assertEqual(bp.workers_of({"peer": "torch workers=2"}), 2)
        self.assertEqual(bp.workers_of({"reader": "planned"}), 0)


if __name__ == "__main__":
    unittest.main()
