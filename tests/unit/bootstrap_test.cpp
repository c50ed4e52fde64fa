#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(median(Values{5}), 5);
  EXPECT_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_EQ(median(Values{4, 1, 2, 9}), 3);
}

TEST(Bootstrap, RatioOfEqualSeriesIsOne) {
  const Values a{100, 103, 98, 101, 99};
  const Estimate r = bootstrap_ratio(a, a);
  EXPECT_EQ(r.value, 1);
  EXPECT_TRUE(r.interval->contains(1.0));
}

TEST(Bootstrap, NoiseAroundTheSameValueIsNoDifference) {
  const Values a{100, 104, 97, 101, 99, 102};
  const Values b{101, 99, 103, 98, 102, 100};
  EXPECT_TRUE(bootstrap_ratio(a, b).interval->contains(1.0));
}

TEST(Bootstrap, AClearDifferenceExcludesOne) {
  const Values slow{100, 103, 98, 101, 99};
  const Values fast{251, 255, 247, 249, 250};
  const Estimate r = bootstrap_ratio(fast, slow);
  EXPECT_NEAR(r.value, 2.5, 0.05);
  EXPECT_GT(r.interval->low, 2.3);
  EXPECT_LT(r.interval->high, 2.7);
}

TEST(Bootstrap, PairingCancelsDriftThatBothCellsSaw) {
  Values a, b;
  for (int i = 0; i < 6; ++i) {
    b.push_back(100.0 * (i + 1));  // the device gets six times faster meanwhile
    a.push_back(b.back() * (1.10 + 0.001 * i));
  }
  const Estimate r = bootstrap_ratio(a, b);
  EXPECT_GT(r.interval->low, 1.09);
  EXPECT_LT(r.interval->high, 1.12);
}

TEST(Bootstrap, SwappingTheCellsInvertsTheRatio) {
  const Values a{10, 12, 11, 13};
  const Values b{20, 21, 25, 22};
  const Estimate r = bootstrap_ratio(a, b);
  const Estimate s = bootstrap_ratio(b, a);
  EXPECT_NEAR(r.value * s.value, 1, 1e-12);
  EXPECT_NEAR(r.interval->low * s.interval->high, 1, 0.01);
}

TEST(Bootstrap, IsDeterminedByTheSeed) {
  const Values a{1.0, 1.5, 1.25, 2.0, 1.1};
  const Values b{1.1, 1.4, 1.05, 1.7, 1.3};
  const auto run = [&](std::uint64_t seed) {
    return *bootstrap_ratio(a, b, {.seed = seed, .resamples = 500}).interval;
  };
  EXPECT_EQ(run(7).low, run(7).low);
  EXPECT_EQ(run(7).high, run(7).high);
  EXPECT_TRUE(run(7).low != run(8).low || run(7).high != run(8).high);
}

TEST(Bootstrap, OneRepeatHasAValueAndNoInterval) {
  EXPECT_EQ(bootstrap_median(Values{3}).value, 3);
  EXPECT_FALSE(bootstrap_median(Values{3}).interval);
  EXPECT_FALSE(bootstrap_ratio(Values{3}, Values{2}).interval);
}

TEST(Bootstrap, IntervalOfTheMedianStaysWithinTheRepeats) {
  const Values a{3, 9, 4};
  const Estimate m = bootstrap_median(a);
  EXPECT_EQ(m.value, 4);
  EXPECT_GE(m.interval->low, 3);
  EXPECT_LE(m.interval->high, 9);
}

// 95 % intervals of 12 normal values: percentile intervals are known to fall a little short.
TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  Rng rng(42);
  int covered = 0;
  constexpr int kTrials = 300;
  for (int t = 0; t < kTrials; ++t) {
    Values a, b;
    for (int i = 0; i < 12; ++i) {
      a.push_back(200 * std::exp(0.05 * rng.normal()));
      b.push_back(100 * std::exp(0.05 * rng.normal()));
    }
    covered += bootstrap_ratio(a, b, {.resamples = 400}).interval->contains(2.0) ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 85 / 100);
  EXPECT_LE(covered, kTrials * 99 / 100);
}

TEST(CoverageBound, SaysWhatFewRepeatsCannotGive) {
  EXPECT_EQ(coverage_bound(1), 0);
  EXPECT_EQ(coverage_bound(3), 0.75);
  EXPECT_LT(coverage_bound(5), 0.95);
  EXPECT_GT(coverage_bound(6), 0.95);
}

}  // namespace
}  // namespace blksweep
