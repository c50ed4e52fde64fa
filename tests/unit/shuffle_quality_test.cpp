#include "stats/shuffle_quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "support/chi_square.h"

namespace blksweep {
namespace {

using support::chi_square;
using support::chi_square_tail;

constexpr std::uint32_t kShuffled = 20000;
constexpr std::uint32_t kBatch = 100;

struct Data {
  std::vector<std::uint32_t> samples = std::vector<std::uint32_t>(kShuffled);
  std::vector<std::uint32_t> label = std::vector<std::uint32_t>(kShuffled);
  std::vector<std::uint32_t> batch_begin;

  Data() {
    std::iota(samples.begin(), samples.end(), 0U);
    for (std::uint32_t i = 0; i < kShuffled; ++i) {
      label[i] = i / 500;  // 40 classes, stored one after the other
    }
    for (std::uint32_t i = 0; i <= kShuffled; i += kBatch) {
      batch_begin.push_back(i);
    }
  }
  ShuffleQuality quality() const {
    return shuffle_quality({.samples = samples, .batch_begin = batch_begin, .label = label});
  }
};

TEST(ShuffleQuality, StorageOrderScoresZero) {
  const ShuffleQuality q = Data().quality();
  EXPECT_EQ(q.displacement, 0.0);
  EXPECT_EQ(q.spearman, 0.0);
  EXPECT_EQ(q.neighbours, 0.0);
  EXPECT_EQ(q.label_mix, 0.0);
}

TEST(ShuffleQuality, FullPermutationScoresAboutOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Data data;
    Rng rng(seed);
    shuffle(std::span(data.samples), rng);
    const ShuffleQuality q = data.quality();
    EXPECT_GT(q.displacement, 0.97);
    EXPECT_GT(q.spearman, 0.97);
    EXPECT_GT(q.neighbours, 0.999);
    EXPECT_GT(q.label_mix, 0.97);
  }
}

// Each sample is one place away; of a random permutation the mean is (n^2 - 1) / 3n.
TEST(ShuffleQuality, NeighboursThatChangePlacesScoreTheirDistance) {
  Data data;
  for (std::uint32_t i = 0; i + 1 < kShuffled; i += 2) {
    std::swap(data.samples[i], data.samples[i + 1]);
  }
  const double n = kShuffled;
  static_assert(kShuffled % 2 == 0);
  EXPECT_NEAR(*data.quality().displacement, 3 * n / (n * n - 1), 1e-12);
}

TEST(ShuffleQuality, LargerWindowsScoreHigher) {
  double displacement = -1;
  double mix = -1;
  for (const std::uint32_t window : {10U, 1000U, 8000U}) {
    Data data;
    Rng rng(7);
    for (std::uint32_t i = 0; i < kShuffled; i += window) {
      shuffle(std::span(data.samples).subspan(i, std::min(window, kShuffled - i)), rng);
    }
    const ShuffleQuality q = data.quality();
    EXPECT_GT(q.displacement, displacement);
    EXPECT_GT(q.label_mix, mix);
    displacement = *q.displacement;
    mix = *q.label_mix;
  }
  EXPECT_LT(displacement, 0.5);
}

TEST(ShuffleQuality, ReversedOrderIsNoShuffle) {
  Data data;
  std::ranges::reverse(data.samples);
  const ShuffleQuality q = data.quality();
  EXPECT_EQ(q.spearman, 0.0);
  EXPECT_EQ(q.neighbours, 0.0);
  EXPECT_EQ(q.label_mix, 0.0);
}

TEST(ShuffleQuality, MissingSamplesLeaveNoGap) {
  Data data;
  std::erase_if(data.samples, [](std::uint32_t s) { return s % 3 == 0; });
  EXPECT_EQ(shuffle_quality({.samples = data.samples}).displacement, 0.0);
}

TEST(ShuffleQuality, TellsReadOrderFromStorageOrder) {
  Data data;
  Rng rng(2);
  shuffle(std::span(data.samples), rng);
  const ShuffleQuality q = shuffle_quality({.samples = data.samples, .read_order = data.samples});
  EXPECT_GT(q.spearman, 0.97);
  EXPECT_EQ(q.spearman_vs_read, 0.0);
}

TEST(ShuffleQuality, RanksDecideWhatStorageOrderIs) {
  Data data;
  Rng rng(4);
  shuffle(std::span(data.samples), rng);
  std::vector<std::uint32_t> rank(kShuffled);
  for (std::uint32_t i = 0; i < kShuffled; ++i) {
    rank[data.samples[i]] = i;
  }
  EXPECT_EQ(shuffle_quality({.samples = data.samples, .rank = rank}).neighbours, 0.0);
}

TEST(ShuffleQuality, IsUnknownWhereItHasNoMeaning) {
  const std::vector<std::uint32_t> two{1, 0};
  EXPECT_FALSE(shuffle_quality({.samples = two}).displacement);
  EXPECT_FALSE(shuffle_quality({}).spearman);
  Data data;
  std::ranges::fill(data.label, 0xFFFFFFFF);
  EXPECT_FALSE(data.quality().label_mix);
  EXPECT_TRUE(data.quality().displacement);
  EXPECT_FALSE(shuffle_quality({.samples = data.samples}).label_mix);
}

TEST(ChiSquare, MatchesTabulatedQuantiles) {
  EXPECT_NEAR(chi_square_tail(3.841459, 1), 0.05, 1e-6);
  EXPECT_NEAR(chi_square_tail(18.307038, 10), 0.05, 1e-6);
  EXPECT_NEAR(chi_square_tail(135.806723, 100), 0.01, 1e-6);
  EXPECT_NEAR(chi_square_tail(70.064895, 100), 0.99, 1e-6);
  EXPECT_EQ(chi_square_tail(0, 5), 1.0);
}

TEST(ChiSquare, AddsSquaredDeviations) {
  const std::vector<std::uint64_t> counts{8, 12, 10};
  EXPECT_DOUBLE_EQ(chi_square(counts, 10), 0.8);
}

}  // namespace
}  // namespace blksweep
