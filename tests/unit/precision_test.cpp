// Rounds by precision: the rule, and what may be said while it goes on.
#include "stats/precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "stats/anytime.h"
#include "stats/student_t.h"
#include "support/pair_noise.h"

namespace blksweep {
namespace {

using Ratios = std::vector<double>;
using Family = std::vector<Ratios>;

Ratios normal_ratios(std::size_t n, double sigma, std::uint64_t seed) {
  Rng rng(seed);
  Ratios out;
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(std::exp(sigma * rng.normal()));
  }
  return out;
}

TEST(AnytimeP, IsTheMartingaleOfTheTheorem) {
  // n = 5, logarithms 1, 1, 1, 1, 2: S = 6, V = 8; G = sqrt(1/6) (48 / (48 - 36))^2.5.
  const double e = std::exp(1.0);
  const double g = std::sqrt(1.0 / 6) * std::pow(48.0 / 12, 2.5);
  EXPECT_NEAR(anytime_p(Ratios{e, e, e, e, e * e}), 1 / g, 1e-12);
}

TEST(AnytimeP, NeverRisesAsRoundsAreAddedAndSaysNothingOfFour) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Ratios all = normal_ratios(60, 0.1, seed);
    double before = 1;
    for (std::size_t n = 1; n <= all.size(); ++n) {
      const double p = anytime_p(std::span(all).first(n));
      EXPECT_LE(p, before);
      EXPECT_TRUE(n >= kLeastRounds || p == 1);
      before = p;
    }
  }
}

TEST(AnytimeP, DoesNotDependOnTheUnitOfNoiseNorOnWhichCellComesFirst) {
  const Ratios ratios = normal_ratios(20, 0.1, 3);
  Ratios wider, inverse;
  for (const double r : ratios) {
    wider.push_back(std::pow(r, 7));
    inverse.push_back(1 / r);
  }
  EXPECT_NEAR(anytime_p(wider), anytime_p(ratios), 1e-9);
  EXPECT_NEAR(anytime_p(inverse), anytime_p(ratios), 1e-9);
}

TEST(AnytimeP, OfEqualTimesIsOne) {
  EXPECT_EQ(anytime_p(Ratios(50, 1.0)), 1);
  EXPECT_EQ(anytime_p(Ratios(50, 1.0 + 1e-15)), 1) << "rounding is no effect";
}

TEST(FindingsSoFar, HoldManyComparisonsToLessThanOne) {
  // p of 0.019: alone it is below 2 %, among ten it is not.
  Ratios borderline = normal_ratios(30, 0.02, 5);
  const double n = 30, wanted = 0.019;
  for (double low = 1, high = 1.1; high - low > 1e-9;) {
    const double shift = (low + high) / 2;
    Ratios moved = borderline;
    std::ranges::for_each(moved, [&](double& r) { r *= shift; });
    (anytime_p(moved) > wanted ? low : high) = shift;
    if (high - low <= 1e-9) {
      borderline = moved;
    }
  }
  ASSERT_NEAR(anytime_p(borderline), wanted, 1e-3) << n;
  EXPECT_EQ(findings_so_far(Family{borderline})[0], Finding::faster);
  Family ten(9, normal_ratios(30, 0.02, 6));
  ten.push_back(borderline);
  EXPECT_EQ(findings_so_far(ten)[9], Finding::not_shown);
}

TEST(FindingsSoFar, OfTooFewPairsAreNone) {
  EXPECT_EQ(findings_so_far(Family{Ratios(4, 2.0), {}}),
            (std::vector{Finding::none, Finding::none}));
}

TEST(Precision, IsTheHalfWidthOfTheIntervalThatIsGiven) {
  for (const std::size_t n : {10UL, 17UL, 60UL}) {
    const Ratios ratios = normal_ratios(n, 0.05, n);
    const PrecisionState state = precision_of(Family{ratios}, n, {});
    const PairedRatio given = paired_ratio(ratios, kStoppedErrorRate);
    EXPECT_NEAR(given.interval->high / given.value, 1 + *state.half_width, 1e-12);
    EXPECT_NEAR(given.value / given.interval->low, 1 + *state.half_width, 1e-12);
  }
}

TEST(Precision, IsThatOfTheWidestAndStopsWhenAllAreReached) {
  const Ratios quiet = normal_ratios(20, 0.01, 1), noisy = normal_ratios(20, 0.2, 2);
  const PrecisionRule rule{.half_width = 0.02};
  const PrecisionState both = precision_of(Family{quiet, noisy}, 20, rule);
  EXPECT_EQ(both.widest, 1U);
  EXPECT_EQ(both.intervals, 2U);
  EXPECT_EQ(both.reached, 1U);
  EXPECT_EQ(stop_reason(both, 20, Nanos{0}, rule), StopReason::none);
  const PrecisionState one = precision_of(Family{quiet}, 20, rule);
  EXPECT_EQ(stop_reason(one, 20, Nanos{0}, rule), StopReason::precision);
}

TEST(Precision, NothingIsDecidedWithinThePilot) {
  const PrecisionRule rule{.half_width = 0.5};
  const Ratios quiet = normal_ratios(9, 0.001, 1);
  const PrecisionState nine = precision_of(Family{quiet}, 9, rule);
  EXPECT_EQ(stop_reason(nine, 9, Nanos{0}, rule), StopReason::none);
  EXPECT_EQ(nine.rounds_expected, kPilotRounds);
  const PrecisionState few = precision_of(Family{quiet}, 30, rule);
  EXPECT_EQ(few.reached, 0U) << "nine pairs of 30 rounds are no pilot";
}

TEST(Precision, EndsAtTheMostRoundsAndAtTheTimeLimit) {
  const Ratios noisy = normal_ratios(100, 0.3, 1);
  const PrecisionRule rule{.most_rounds = 100, .time_limit = std::chrono::minutes(5)};
  const Family family{noisy};
  const PrecisionState state = precision_of(family, 100, rule);
  EXPECT_EQ(stop_reason(state, 100, Nanos{0}, rule), StopReason::repeats_max);
  EXPECT_EQ(stop_reason(state, 50, std::chrono::minutes(5), rule), StopReason::time_limit);
  EXPECT_EQ(stop_reason(state, 50, std::chrono::minutes(4), rule), StopReason::none);
}

TEST(Precision, DoesNotWaitForACellWithoutAnyPair) {
  const Ratios quiet = normal_ratios(12, 0.001, 1);
  const PrecisionRule rule;
  const PrecisionState state = precision_of(Family{quiet, {}}, 12, rule);
  EXPECT_EQ(state.intervals, 1U);
  EXPECT_EQ(stop_reason(state, 12, Nanos{0}, rule), StopReason::precision);
  const PrecisionState none = precision_of(Family{{}, {}}, 12, rule);
  EXPECT_EQ(stop_reason(none, 12, Nanos{0}, rule), StopReason::no_pairs);
}

TEST(Precision, AllowsForABiasThatRoundsDoNotNarrow) {
  const Ratios quiet = normal_ratios(20, 0.001, 1);
  const PrecisionRule rule{.half_width = 0.02};
  const std::vector<double> within{0.01}, beyond{0.02};
  const PrecisionState narrow = precision_of(Family{quiet}, 20, rule, within);
  EXPECT_NEAR(std::log1p(*narrow.half_width),
              std::log1p(*precision_of(Family{quiet}, 20, rule).half_width) + 0.01, 1e-12);
  EXPECT_EQ(stop_reason(narrow, 20, Nanos{0}, rule), StopReason::precision);
  const PrecisionState wide = precision_of(Family{quiet}, 20, rule, beyond);
  EXPECT_EQ(wide.reached, 0U);
  EXPECT_EQ(wide.rounds_expected, 20U) << "more would not help";
  EXPECT_EQ(stop_reason(wide, 9, Nanos{0}, rule), StopReason::none) << "the pilot is made anyway";
  EXPECT_EQ(stop_reason(wide, 20, Nanos{0}, rule), StopReason::clock);
}

TEST(Precision, WaitsForTheOthersBesideABiasThatIsTooWide) {
  const Ratios quiet = normal_ratios(20, 0.001, 1), noisy = normal_ratios(20, 0.2, 2);
  const PrecisionRule rule{.half_width = 0.02};
  const std::vector<double> biases{0, 0.5}, unknown{0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(stop_reason(precision_of(Family{noisy, quiet}, 20, rule, biases), 20, Nanos{0}, rule),
            StopReason::none);
  const PrecisionState both = precision_of(Family{quiet, quiet}, 20, rule, biases);
  EXPECT_EQ(both.widest, 1U) << "what is shown as the widest is the one that cannot be had";
  EXPECT_EQ(stop_reason(both, 20, Nanos{0}, rule), StopReason::clock);
  const PrecisionState none = precision_of(Family{quiet, quiet}, 20, rule, unknown);
  EXPECT_EQ(none.widest, 0U) << "without an interval there is no width";
  EXPECT_EQ(none.reached, 1U);
  EXPECT_EQ(stop_reason(none, 20, Nanos{0}, rule), StopReason::clock);
}

TEST(Precision, WhatABiasLeavesOfTheWidthIsWhatRoundsHaveToReach) {
  const PrecisionRule rule{.half_width = 0.02, .most_rounds = 10'000};
  const Ratios ratios = normal_ratios(200, 0.2, 4);
  const std::vector<double> bias{std::log1p(0.02) / 2};
  const auto plain = static_cast<double>(precision_of(Family{ratios}, 200, rule).rounds_expected);
  const auto more =
      static_cast<double>(precision_of(Family{ratios}, 200, rule, bias).rounds_expected);
  EXPECT_NEAR(more / plain, 4, 0.1) << "half the width, four times the rounds";
}

TEST(Precision, ExpectsTheRoundsThatTheVarianceAsksFor) {
  const PrecisionRule rule{.half_width = 0.02, .most_rounds = 10'000};
  const Ratios ratios = normal_ratios(200, 0.2, 4);
  const PrecisionState state = precision_of(Family{ratios}, 200, rule);
  const LogMean mean = log_mean(ratios);
  const auto n = static_cast<double>(state.rounds_expected);
  const auto half = [&](double pairs) {
    return t_quantile(kStoppedErrorRate, pairs - 1) * mean.error * std::sqrt(200 / pairs);
  };
  EXPECT_LE(half(n), std::log1p(0.02));
  EXPECT_GT(half(n - 2), std::log1p(0.02));
  EXPECT_EQ(precision_of(Family{ratios}, 200, {.most_rounds = 300}).rounds_expected, 300U);
}

// The study in small (tests/bench/coverage_study.cpp is the whole): rounds are added until the
// interval is narrow, where that costs most (some 20 and 30 rounds); bounds at four standard
// errors.
TEST(Precision, IntervalsCoverAndNullPairsAreNotCalledThoughLookedAtAfterEveryRound) {
  constexpr int kTrials = 1500;
  for (const double share : {0.5, 0.35}) {
    const PrecisionRule rule{.half_width = std::expm1(0.1 * std::sqrt(2.0) * share),
                             .most_rounds = 100};
    PairNoise noise({.kind = Disturbance::none, .sigma = 0.1, .seed = 9});
    int covered = 0, called = 0;
    for (int t = 0; t < kTrials; ++t) {
      const Ratios all = noise.ratios(rule.most_rounds, 1.0)[0];
      std::size_t n = kPilotRounds;
      Family so_far{Ratios(all.begin(), all.begin() + kPilotRounds)};
      while (stop_reason(precision_of(so_far, n, rule), n, Nanos{0}, rule) == StopReason::none) {
        so_far[0].push_back(all[n++]);
      }
      const PairedRatio r = paired_ratio(so_far[0], kStoppedErrorRate);
      const bool in = r.interval->contains(1.0);
      covered += in ? 1 : 0;
      called += !in || findings_so_far(so_far)[0] != Finding::not_shown ? 1 : 0;
    }
    EXPECT_GE(covered, kTrials * 93 / 100) << share;
    EXPECT_LE(called, kTrials * 73 / 1000) << share;
  }
}

}  // namespace
}  // namespace blksweep
