// Two sessions that do not differ are called different as rarely as is claimed, and what differs is
// found.
#include "stats/unpaired.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "stats/precision.h"
#include "stats/student_t.h"

namespace blksweep {
namespace {

double uniform(Rng& rng) { return (static_cast<double>(rng.below(1U << 30)) + 0.5) / (1U << 30); }

std::vector<double> runs(Rng& rng, std::size_t n, double level, double noise) {
  std::vector<double> out(n);
  for (double& x : out) {  // Box and Muller
    x = level * std::exp(noise * std::sqrt(-2 * std::log(uniform(rng))) *
                         std::cos(6.283185307179586 * uniform(rng)));
  }
  return out;
}

// Of noise 1, until their own interval is half as wide as that.
std::vector<double> stopped_runs(Rng& rng) {
  std::vector<double> out;
  PrecisionState state;
  const PrecisionRule rule{.half_width = std::expm1(0.5)};
  do {
    out.push_back(runs(rng, 1, 1, 1).front());
    state = precision_of(std::array{out}, out.size(), rule);
  } while (stop_reason(state, out.size(), Nanos{0}, rule) == StopReason::none);
  return out;
}

// By hand, of logarithms 0, ln 2, 0, ln 2, ln 2 and five times as large ones.
TEST(UnpairedRatio, IsWelchsOnLogarithms) {
  const std::vector<double> to{1, 2, 1, 2, 2}, of{3, 3, 6, 6, 3, 6};
  const UnpairedRatio r = unpaired_ratio(of, to);
  EXPECT_EQ(r.of, 6U);
  EXPECT_EQ(r.to, 5U);
  const double l = std::log(2), mean_to = 0.6 * l, mean_of = std::log(3) + 0.5 * l;
  EXPECT_NEAR(r.value, std::exp(mean_of - mean_to), 1e-12);
  const double va = 0.3 * l * l / 6, vb = 0.3 * l * l / 5;  // both have a variance of 0.3 ln(2)^2
  const double freedom = (va + vb) * (va + vb) / (va * va / 5 + vb * vb / 4);
  EXPECT_NEAR(freedom, 8.6, 0.1);
  // t of 8.6 degrees at 97.5 % is 2.279
  const double half = std::log(r.interval->high) - std::log(r.value);
  EXPECT_NEAR(half / std::sqrt(va + vb), 2.279, 0.01);
  EXPECT_NEAR(std::log(r.interval->high) + std::log(r.interval->low), 2 * std::log(r.value), 1e-9);
  EXPECT_LT(*r.p, 0.01);
}

TEST(UnpairedRatio, HasNoIntervalFromFewRuns) {
  const std::vector<double> four{1, 1.1, 1, 1.1}, six{2, 2, 2.1, 2, 2.2, 2};
  EXPECT_FALSE(unpaired_ratio(four, six).interval);
  EXPECT_FALSE(unpaired_ratio(six, four).p);
  EXPECT_NEAR(unpaired_ratio(four, four).value, 1, 1e-12) << "the estimate is there";
  EXPECT_EQ(unpaired_ratio(six, four).of, 6U);
  EXPECT_TRUE(unpaired_ratio(six, six).interval);
  EXPECT_EQ(*unpaired_ratio(six, six).p, 1.0);
}

// Nothing but rounding is left, with as many degrees of freedom as there are runs, less two means.
TEST(UnpairedRatio, WithoutNoiseIsCertain) {
  const std::vector<double> one(5, 1.0), two(7, 2.0);
  const UnpairedRatio r = unpaired_ratio(two, one);
  EXPECT_DOUBLE_EQ(r.value, 2);
  EXPECT_LT(*r.p, 1e-9);
  EXPECT_NEAR(r.interval->low, 2, 1e-6);
  const double t = std::log(r.interval->high / r.value) / (1e-12 * std::log(2));
  EXPECT_NEAR(t, t_quantile(0.05, 10), 1e-3);
}

// Of unequal noise and numbers, where a t test with one common variance would err in 15 %.
TEST(UnpairedRatio, IntervalsCoverAsOftenAsTheyClaim) {
  Rng rng(17);
  constexpr int kTries = 4000;
  int covered = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto a = runs(rng, 6, 1.0, 0.20), b = runs(rng, 18, 1.3, 0.05);
    const UnpairedRatio r = unpaired_ratio(b, a);
    covered += r.interval->low <= 1.3 && 1.3 <= r.interval->high ? 1 : 0;
  }
  EXPECT_GT(covered, kTries * 0.935);
  EXPECT_LT(covered, kTries * 0.965);
}

// At 95 % they would cover 92.9.
TEST(UnpairedRatio, IntervalsOfSidesThatWereStoppedByTheirWidthsCoverWhatIsClaimed) {
  Rng rng(31);
  constexpr int kTries = 4000;
  int covered = 0;
  for (int i = 0; i < kTries; ++i) {
    const UnpairedRatio r = unpaired_ratio(stopped_runs(rng), stopped_runs(rng), kStoppedErrorRate);
    covered += r.interval->low <= 1 && 1 <= r.interval->high ? 1 : 0;
  }
  EXPECT_GT(covered, kTries * 0.944);  // 95.4, and three standard errors
}

TEST(UnpairedRatio, OneFalseWordInAFamilyIsRare) {
  Rng rng(23);
  int families = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<UnpairedRatio> all;
    for (int c = 0; c < 8; ++c) {
      all.push_back(unpaired_ratio(runs(rng, 8, 1, 0.1), runs(rng, 8, 1, 0.1)));
    }
    std::vector<UnpairedRatio*> family;
    for (UnpairedRatio& r : all) {
      family.push_back(&r);
    }
    show_differences(family);
    families += std::ranges::any_of(all, [](const UnpairedRatio& r) { return r.shown; }) ? 1 : 0;
  }
  EXPECT_LT(families, 75);  // 50, and three standard errors
}

TEST(UnpairedRatio, WhatDiffersIsShownBesideWhatDoesNot) {
  Rng rng(29);
  UnpairedRatio different = unpaired_ratio(runs(rng, 10, 1.5, 0.05), runs(rng, 10, 1, 0.05));
  UnpairedRatio same =
      unpaired_ratio(std::vector<double>{1, 2, 1, 2, 1}, std::vector<double>{2, 1, 2, 1, 1});
  UnpairedRatio few = unpaired_ratio(std::vector<double>{9.0}, std::vector<double>{1.0});
  const std::vector<UnpairedRatio*> family{&same, &few, &different};
  show_differences(family);
  EXPECT_TRUE(different.shown);
  EXPECT_FALSE(same.shown);
  EXPECT_FALSE(few.shown);
}

}  // namespace
}  // namespace blksweep
