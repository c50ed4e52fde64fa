"""The table of loading strategies: what is compared with what, and what is said of it."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "figures"))

import strategies
import strategies_table as table

STEPS = [(1, "files"), (2, "packed"), (3, "fp16"), (4, "fp16 zstd"), (5, "fp16 lz4"), (6, "more")]


def run(epoch_s, **stalls):
    return table.Run(epoch_s, 0.5, 12.5, stalls)


class Base(unittest.TestCase):
    def test_is_the_step_before(self):
        self.assertIsNone(table.base_of(STEPS[0], STEPS))
        self.assertEqual(table.base_of(STEPS[1], STEPS), STEPS[0])
        self.assertEqual(table.base_of(STEPS[5], STEPS), STEPS[4])

    def test_of_alternatives_is_what_they_are_alternatives_to(self):
        self.assertEqual(table.base_of(STEPS[3], STEPS), STEPS[2])
        self.assertEqual(table.base_of(STEPS[4], STEPS), STEPS[2])


class Row(unittest.TestCase):
    def words(self, before, after):
        return table.row(STEPS[1], STEPS[0], {STEPS[0]: before, STEPS[1]: after})

    def test_pairs_repeats(self):
        words = self.words({0: run(1), 1: run(2)}, {0: run(0.5), 1: run(1.2)})
        self.assertEqual(words[3:6], ("1", "0.550", "0.500..0.600"))

    def test_steps_are_other_sessions_and_get_no_verdict(self):
        words = self.words({0: run(1), 1: run(1)}, {0: run(0.9), 1: run(1.1)})
        self.assertEqual(words[4:6], ("1.000", "0.900..1.100"))

    def test_without_a_pair_there_is_no_ratio(self):
        self.assertEqual(self.words({0: run(1)}, {1: run(1)})[3:6], ("", "", ""))

    def test_unknown_is_not_zero(self):
        unknown = table.Run(1, None, None, {})
        self.assertEqual(self.words({}, {0: unknown})[6:], ("-", "-", "-"))


class MainStall(unittest.TestCase):
    def test_is_the_greatest_median(self):
        runs = [run(1, storage=10, copy=30), run(1, storage=20, copy=5), run(1, storage=20, copy=6)]
        self.assertEqual(table.main_stall(runs), ("storage", 20))

    def test_a_cause_that_a_run_lacks_counts_as_nothing_in_it(self):
        self.assertEqual(table.main_stall([run(1, host=2), run(1, copy=90), run(1, host=2)]), ("host", 2))

    def test_nothing_was_waited_for(self):
        self.assertIsNone(table.main_stall([run(1), run(1, copy=0)]))


class Limits(unittest.TestCase):
    def test_are_named_in_the_unit_of_disks(self):
        self.assertEqual(strategies.limit_word("none"), "no limit")
        self.assertEqual(strategies.limit_word("1GB/s"), "1,000 MB/s")
        self.assertEqual(strategies.limit_word("1000000000B/s"), "1,000 MB/s")
        self.assertEqual(strategies.limit_word("1GiB/s"), "1,074 MB/s")

    def test_go_from_loose_to_tight(self):
        words = ["80 MB/s", "no limit", "1,000 MB/s"]
        self.assertEqual(sorted(words, key=strategies.limit_order), ["no limit", "1,000 MB/s", "80 MB/s"])


if __name__ == "__main__":
    unittest.main()
