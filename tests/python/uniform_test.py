"""The global shuffle over ranks: over many seeds every sample comes at every place equally often, whatever reads it."""
import math
import os
import shutil
import tempfile
import unittest

import blksweep
import numpy
from data import indices, make

SAMPLES, SEEDS, RANKS = 16, 400, 4


def p_value(counts):
    """Of a chi-square test that all cells are equally likely; rows and columns each sum to SEEDS."""
    expected = counts.sum() / counts.size
    freedom = (len(counts) - 1) ** 2
    chi = ((counts - expected) ** 2 / expected).sum() / freedom
    normal = (chi ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))  # Wilson and Hilferty
    return 0.5 * math.erfc(normal / math.sqrt(2))


class Uniform(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.mkdtemp(prefix="blksweep-test-")
        make(os.path.join(cls.temp, "data"), "1KiB", SAMPLES)
        cls.catalog = blksweep.Catalog(os.path.join(cls.temp, "data"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.temp)

    def part(self, seed, rank, ranks, **options):
        return indices(blksweep.Loader(self.catalog, **{"order": "lba", "merge": "none", "shuffle": "full", "window": "100%", **options},
                                       batch_size=2, seed=seed, rank=rank, world_size=ranks, depth=4))

    def test_every_sample_comes_at_every_place_of_four_ranks_equally_often(self):
        counts = numpy.zeros((SAMPLES, SAMPLES), int)
        for seed in range(SEEDS):
            for rank in range(RANKS):
                for turn, sample in enumerate(self.part(seed, rank, RANKS)):
                    counts[sample, turn * RANKS + rank] += 1
        self.assertTrue((counts.sum(0) == SEEDS).all() and (counts.sum(1) == SEEDS).all())
        self.assertGreater(p_value(counts), 1e-3)

    def test_it_is_that_of_one_rank(self):
        for seed in range(20):
            joined = [None] * SAMPLES
            for rank in range(RANKS):
                joined[rank::RANKS] = self.part(seed, rank, RANKS)
            self.assertEqual(joined, self.part(seed, 0, 1))

    def test_in_windows_of_their_own_each_rank_has_its_own_samples_equally_often_and_apart_from_the_others(self):
        read = [self.part(1, rank, 2, shuffle="none") for rank in range(2)]
        counts, together = numpy.zeros((2, SAMPLES // 2, SAMPLES // 2), int), numpy.zeros((SAMPLES // 2, SAMPLES // 2), int)
        for seed in range(SEEDS):
            parts = [[read[rank].index(sample) for sample in self.part(seed, rank, 2, window_scope="rank")] for rank in range(2)]
            for rank, part in enumerate(parts):
                counts[rank, part, numpy.arange(len(part))] += 1
            together[parts[0][0], parts[1][0]] += 1
        for rank in range(2):
            self.assertTrue((counts[rank].sum(0) == SEEDS).all() and (counts[rank].sum(1) == SEEDS).all())
            self.assertGreater(p_value(counts[rank]), 1e-3)
        self.assertGreater(p_value(together), 1e-3)

    def test_a_shuffle_that_prefers_places_is_seen(self):
        draw, counts = numpy.random.RandomState(1), numpy.zeros((SAMPLES, SAMPLES), int)
        for seed in range(SEEDS):  # one in ten comes as it lies
            order = range(SAMPLES) if seed % 10 == 0 else draw.permutation(SAMPLES)
            for place, sample in enumerate(order):
                counts[sample, place] += 1
        self.assertLess(p_value(counts), 1e-3)


if __name__ == "__main__":
    unittest.main()
