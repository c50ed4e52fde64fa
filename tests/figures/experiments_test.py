"""Experiments: their full form, what their runner says at the end, and what their figures conclude."""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/figures")]

import batch_period  # noqa: E402
import curves  # noqa: E402
import experiments as runner  # noqa: E402

HOME = ROOT / "scripts/experiments"


def figure(name):
    return runner.figure_of(HOME / f"{name}.toml")


class Forms(unittest.TestCase):
    def test_the_full_form_has_the_other_values_and_the_quick_one_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            spec = pathlib.Path(folder, "x.toml")
            spec.write_text('repeats = 3  # full: 10\nsize = "1MiB"\nmake = { count = 2 }  # full: { count = 9 }  # many\n')
            self.assertEqual(runner.text_of(spec, full=True), 'repeats = 10\nsize = "1MiB"\nmake = { count = 9 }  # many\n')
            self.assertEqual(runner.text_of(spec, full=False), spec.read_text())

    def test_what_the_environment_asks_of_a_script_is_part_of_what_it_made(self):
        script = HOME / "progress-cost.sh"
        with unittest.mock.patch.dict("os.environ", {"PAIRS": "3", "EPOCHS": "9", "BLKSWEEP": "x"}):
            self.assertEqual(runner.wishes(script, {"EPOCHS": "200"}), "# PAIRS=3\n")
            self.assertEqual(runner.wishes(HOME / "sort-key.toml", {}), "")

    def test_one_failure_or_interruption_decides_about_the_status_of_all(self):
        for codes, status in (([0, 0], 0), ([0, 3], 3), ([0, 77], 0), ([77, 77], 77), ([3, 1], 1), ([0, 2], 1),
                              ([-9, 0], 1), ([1, 130], 130)):
            self.assertEqual(runner.status_of(dict(enumerate(codes))), status, codes)


class Intervals(unittest.TestCase):
    def test_the_medians_interval_is_that_of_the_sign_test(self):
        # Tables of the sign test: the 6th and 15th of 20 at 95.9 %, least and greatest of 6 at 96.9 %, none of 5 (93.8 %).
        self.assertEqual(curves.median_interval(range(20, 0, -1)), (6, 15))
        self.assertEqual(curves.median_interval(range(6)), (0, 5))
        self.assertIsNone(curves.median_interval(range(5)))
        self.assertEqual(curves.median_interval(range(5), level=0.93), (0, 4))


class Waits(unittest.TestCase):
    def drained(self, queue, compute, read, count=400):
        """Batches of a reader that is slower than the computation: `queue` of them are there at the beginning."""
        free, out = 0, []
        for at in range(count):
            arrived = 0 if at < queue else (at - queue + 1) * read
            free = max(free, arrived) + compute
            out.append((arrived, free))
        return out

    def test_the_queue_is_empty_when_it_has_drained_and_not_before(self):
        ms = 10**6
        for queue in (4, 8, 16):
            batches = self.drained(queue, 6 * ms, 11 * ms)
            times, empty = figure("prefetch-queue").times_of(batches, 0)
            # After i iterations of 6 ms 6 i / 11 batches came in.
            expected = next(i for i in range(400) if i >= queue and (i - queue + 1) * 11 > i * 6 + 1)
            self.assertEqual(empty, expected)
            self.assertEqual(times[:empty - 1], [6.0] * (empty - 1))
        self.assertEqual(figure("prefetch-queue").times_of(self.drained(4, 11 * ms, 6 * ms), 0)[1], None)

    def test_peaks_are_found_where_workers_end_together_and_only_there(self):
        module = figure("batch-workers-compute")
        together = [50.0 + i % 3 if i % 4 == 0 else 0.0 for i in range(120)]
        even = [float((i * 7919) % 101) for i in range(120)]
        found = module.periods({"waits": {("workers", 4, 32, False): [together], ("DataLoader", 4, 32, False): [even],
                                          ("workers", 4, 32, True): [even], ("planned", 0, 32, False): [even]}})
        self.assertEqual({k: [p["periodic"] for p in of] for k, of in found.items()},
                         {("workers", 4): [True], ("DataLoader", 4): [False]})
        self.assertIsNone(batch_period.period(together[:10], 4))

    def test_the_order_of_policies_contradicts_only_where_all_rounds_do(self):
        def rates(*values):
            return {(1, repeat): value for repeat, value in enumerate(values)}
        module = figure("batch-workers-compute")
        found = {("planned", 0, 32, False): rates(100, 100), ("workers", 4, 32, False): rates(50, 60)}
        for theirs, said in ((rates(30, 40), -1), (rates(150, 140), 1), (rates(90, 110), None), (rates(104, 94), None),
                             (rates(104, 103), 0), (rates(96, 104), 0)):
            self.assertEqual(module.orders({"rates": {**found, ("DataLoader", 4, 32, False): theirs}}), {(4, 32, False): (-1, said)})

    def test_policies_must_differ_only_where_neither_disk_nor_computation_is_the_bound_of_both(self):
        module = figure("batch-workers-compute")
        self.assertAlmostEqual(module.epoch_by_theory(3000, 30, 0, False), 1, places=3)  # the disk's rate
        self.assertAlmostEqual(module.epoch_by_theory(3000, 30, 1, False), 3000 / 1020, places=3)  # a read after the other
        self.assertFalse(module.must_differ(3072, 16, 1024, False))
        self.assertFalse(module.must_differ(3072, 4, 32, True))
        # Three workers read a batch each at the disk's rate, all that time nothing is computed: 1024 of 3000 for the planned reader.
        self.assertAlmostEqual(module.epoch_by_theory(3072, 1024, 16, True), 3072 / 3000 + 3072 * 0.0005, places=2)
        self.assertTrue(module.must_differ(3072, 16, 1024, True))

    def test_policies_agree_where_all_rounds_of_both_say_the_same(self):
        module = figure("batch-workers-compute")

        def said(ours, theirs, batch=1024, computing=False):
            rates = {("planned", 0, batch, computing): {(1, 0): 100.0, (1, 1): 100.0}}
            for who, values in (("workers", ours), ("DataLoader", theirs)):
                rates[who, 16, batch, computing] = {(1, repeat): value for repeat, value in enumerate(values)}
            return module.agreement({"rates": rates, "samples": 3072})
        for ours, theirs, counts in (((50, 60), (70, 80), (1, 0, 0, 1, 0)), ((99, 104), (98, 97), (0, 1, 0, 1, 0)),
                                     ((150, 150), (110, 120), (0, 0, 1, 1, 0)), ((50, 50), (100, 100), (0, 0, 0, 0, 0)),
                                     ((50, 50), (150, 150), (0, 0, 0, 0, 1)), ((90, 100), (90, 100), (0, 0, 0, 0, 0))):
            slower, equal, faster, agree, against = counts
            text = said(ours, theirs)
            self.assertIn(f"in every round in {slower} of 1 combination ", text)
            self.assertIn(f"both within 5% of it in {equal}, both faster in {faster}: they agree in {agree}, ", text)
            self.assertIn(f"contradict each other in {against}. ", text)
            self.assertIn("have to be slower in 0, and both are in 0 of these.", text)
        self.assertIn("have to be slower in 1, and both are in 1 of these.", said((50, 50), (50, 50), computing=True))
        self.assertIn("have to be slower in 1, and both are in 0 of these.", said((50, 50), (100, 100), computing=True))


if __name__ == "__main__":
    unittest.main()
