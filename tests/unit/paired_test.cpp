// The statistics of comparisons: against published tables, by their properties, and by simulation.
#include "stats/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stats/student_t.h"
#include "support/pair_noise.h"

namespace blksweep {
namespace {

using Values = std::vector<double>;

TEST(StudentT, AgreesWithThePublishedTable) {
  // Two-sided 5 % and 0.5 %; Abramowitz and Stegun, table 26.10.
  EXPECT_NEAR(t_quantile(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(t_quantile(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(t_quantile(0.05, 4), 2.776, 5e-4);
  EXPECT_NEAR(t_quantile(0.05, 9), 2.262, 5e-4);
  EXPECT_NEAR(t_quantile(0.05, 29), 2.045, 5e-4);
  EXPECT_NEAR(t_quantile(0.05, 120), 1.980, 5e-4);
  EXPECT_NEAR(t_quantile(0.01, 4), 4.604, 5e-4);
  EXPECT_NEAR(t_quantile(0.001, 9), 4.781, 5e-4);
}

TEST(StudentT, TailsAndQuantilesAreInverse) {
  EXPECT_EQ(t_both_tails(0, 3), 1);
  EXPECT_EQ(t_both_tails(INFINITY, 3), 0);
  EXPECT_NEAR(t_both_tails(1, 1), 0.5, 1e-12) << "Cauchy";
  for (const double free : {1.0, 2.0, 4.0, 9.0, 99.0, 9999.0}) {
    for (const double tails : {0.9, 0.5, 0.05, 0.005, 1e-6}) {
      EXPECT_NEAR(t_both_tails(t_quantile(tails, free), free) / tails, 1, 1e-9) << free;
    }
  }
}

TEST(SignedRank, KeepsWhatTheExactTableKeeps) {
  // Two-sided 5 %: critical sums 0 (n = 6), 8 (n = 10), 137 (n = 30); Hollander and Wolfe, A.4.
  Values ten;
  for (int i = 0; i < 10; ++i) {
    ten.push_back(std::exp2(i));  // sums of two are all different
  }
  Values means;
  for (std::size_t i = 0; i < ten.size(); ++i) {
    for (std::size_t j = i; j < ten.size(); ++j) {
      means.push_back((ten[i] + ten[j]) / 2);
    }
  }
  std::ranges::sort(means);
  EXPECT_EQ(signed_rank_interval(ten, 0.05).low, means[8]);
  EXPECT_EQ(signed_rank_interval(ten, 0.05).high, means[55 - 9]);
  const Values six(ten.begin(), ten.begin() + 6);
  EXPECT_EQ(signed_rank_interval(six, 0.05).low, 1);
  EXPECT_EQ(signed_rank_interval(six, 0.05).high, 32);
  for (std::size_t few = 1; few < 6; ++few) {  // nothing can be left out: the whole range
    const std::span<const double> some = std::span<const double>(six).first(few);
    EXPECT_EQ(signed_rank_interval(some, 0.05).low, std::ranges::min(some)) << few;
    EXPECT_EQ(signed_rank_interval(some, 0.05).high, std::ranges::max(some)) << few;
  }
}

TEST(PairedRatio, OfEqualSeriesIsOneWithoutAnEffect) {
  const PairedRatio r = paired_ratio(Values(8, 1.0));
  EXPECT_EQ(r.value, 1);
  EXPECT_TRUE(r.interval->contains(1.0));
  EXPECT_EQ(*r.p, 1);
  EXPECT_EQ(find_verdicts(std::array{r})[0].finding, Finding::not_shown);
}

TEST(PairedRatio, IsTheGeometricMeanWithStudentsInterval) {
  const Values ratios{std::exp(0.1), std::exp(0.2), std::exp(0.3), std::exp(0.4), std::exp(0.5)};
  const PairedRatio r = paired_ratio(ratios);
  EXPECT_NEAR(std::log(r.value), 0.3, 1e-12);
  const double half = 2.776445 * std::sqrt(0.025 / 5);
  EXPECT_NEAR(std::log(r.interval->low), 0.3 - half, 1e-6);
  EXPECT_NEAR(std::log(r.interval->high), 0.3 + half, 1e-6);
}

TEST(PairedRatio, FourPairsHaveAValueAndNothingThatClaims) {
  const PairedRatio r = paired_ratio(Values{2, 2.01, 1.99, 2});
  EXPECT_NEAR(r.value, 2, 1e-3);
  EXPECT_FALSE(r.interval || r.ranked || r.p);
  EXPECT_EQ(find_verdicts(std::array{r})[0].finding, Finding::none);
}

TEST(PairedRatio, SwappingTheCellsInvertsRatioAndInterval) {
  const Values ratios{1.1, 1.3, 0.9, 1.2, 1.25, 1.05};
  Values inverse;
  for (const double r : ratios) {
    inverse.push_back(1 / r);
  }
  const PairedRatio r = paired_ratio(ratios), s = paired_ratio(inverse);
  EXPECT_NEAR(r.value * s.value, 1, 1e-12);
  EXPECT_NEAR(r.interval->low * s.interval->high, 1, 1e-12);
  EXPECT_NEAR(r.ranked->low * s.ranked->high, 1, 1e-12);
  EXPECT_NEAR(*r.p, *s.p, 1e-12);
}

TEST(PairedRatio, AnOutlierWidensTheIntervalAndHardlyTheRankedOne) {
  Values ratios{1.09, 1.10, 1.11,  1.10, 1.09, 1.11,  1.10,
                1.10, 1.10, 1.105, 1.12, 1.08, 1.115, 1.095};
  ratios.push_back(0.4);
  const PairedRatio r = paired_ratio(ratios);
  EXPECT_TRUE(r.interval->contains(1.0));
  EXPECT_FALSE(r.ranked->contains(1.0));
}

// All values may be off by as much, alike: no number of rounds averages that away.
TEST(PairedRatio, OfACoarseClockClaimsNothingWithinItsSteps) {
  constexpr double kBias = 0.1;
  const Values ratios{1.08, 1.09, 1.07, 1.08, 1.08, 1.09};
  const PairedRatio fine = paired_ratio(ratios), r = paired_ratio(ratios, kErrorRate, kBias);
  EXPECT_EQ(r.value, fine.value);
  EXPECT_NEAR(std::log(fine.interval->low / r.interval->low), kBias, 1e-12);
  EXPECT_NEAR(std::log(r.interval->high / fine.interval->high), kBias, 1e-12);
  EXPECT_NEAR(std::log(r.ranked->high / fine.ranked->high), kBias, 1e-12);
  const PairedVerdict v = find_verdicts(std::array{r}, {.margin = 0.1})[0];
  EXPECT_EQ(v.finding, Finding::not_shown);
  EXPECT_GT(*v.detectable, kBias);
  EXPECT_FALSE(v.equal) << "it may be 1.19";
  EXPECT_TRUE(find_verdicts(std::array{fine}, {.margin = 0.1})[0].equal);
}

PairedRatio comparison(double value, double log_error, std::size_t pairs = 10) {
  PairedRatio r{.pairs = pairs, .value = value, .log_error = log_error};
  r.p = t_both_tails(std::log(value) / log_error, static_cast<double>(pairs - 1));
  return r;
}

TEST(Verdicts, OneComparisonIsHeldToFivePercentAndManyToLess) {
  const PairedRatio borderline = comparison(1.05, 0.02);  // p = 0.037
  EXPECT_EQ(find_verdicts(std::array{borderline})[0].finding, Finding::faster);
  std::vector<PairedRatio> family(9, comparison(1.001, 0.02));
  family.push_back(borderline);
  family.push_back(comparison(0.5, 0.02));
  const auto verdicts = find_verdicts(family);
  EXPECT_EQ(verdicts[9].finding, Finding::not_shown);
  EXPECT_EQ(verdicts[10].finding, Finding::slower);
}

TEST(Verdicts, HolmTakesTheLeastFirstAndStopsAtTheFirstThatFails) {
  // p of 0.01, 0.02, 0.03: held to 0.0167, 0.025, 0.05.
  const auto with_p = [](double p) {
    PairedRatio r = comparison(1.1, 0.01);
    r.p = p;
    return r;
  };
  const auto all = find_verdicts(std::array{with_p(0.03), with_p(0.01), with_p(0.02)});
  for (const PairedVerdict& v : all) {
    EXPECT_EQ(v.finding, Finding::faster);
  }
  const auto stopped = find_verdicts(std::array{with_p(0.03), with_p(0.01), with_p(0.026)});
  EXPECT_EQ(stopped[1].finding, Finding::faster);
  EXPECT_EQ(stopped[2].finding, Finding::not_shown);
  EXPECT_EQ(stopped[0].finding, Finding::not_shown) << "though 0.03 is below 0.05";
}

TEST(Verdicts, SayWhatCouldHaveBeenShown) {
  const PairedVerdict alone = find_verdicts(std::array{comparison(1.01, 0.02)})[0];
  EXPECT_NEAR(*alone.detectable, std::expm1(2.262 * 0.02), 1e-4);
  // A mean at that distance is just shown; a little nearer is not.
  const double edge = std::log1p(*alone.detectable);
  EXPECT_EQ(find_verdicts(std::array{comparison(std::exp(edge * 1.0001), 0.02)})[0].finding,
            Finding::faster);
  EXPECT_EQ(find_verdicts(std::array{comparison(std::exp(edge * 0.9999), 0.02)})[0].finding,
            Finding::not_shown);
  const std::vector<PairedRatio> family(10, comparison(1.01, 0.02));
  EXPECT_GT(*find_verdicts(family)[0].detectable, *alone.detectable);
}

TEST(Verdicts, NotShownIsNotEqualWithoutATestOfEquality) {
  const PairedRatio close = comparison(1.001, 0.005), loose = comparison(1.001, 0.05);
  EXPECT_FALSE(find_verdicts(std::array{close})[0].equal) << "no margin was named";
  EXPECT_TRUE(find_verdicts(std::array{close}, {.margin = 0.03})[0].equal);
  EXPECT_FALSE(find_verdicts(std::array{loose}, {.margin = 0.03})[0].equal);
  EXPECT_FALSE(find_verdicts(std::array{comparison(1.05, 0.001)}, {.margin = 0.03})[0].equal);
  const PairedRatio small = comparison(1.01, 0.001);
  const PairedVerdict both = find_verdicts(std::array{small}, {.margin = 0.03})[0];
  EXPECT_TRUE(both.equal && both.finding == Finding::faster) << "faster, by less than the margin";
}

TEST(Verdicts, ComparisonsWithTooFewPairsAreNotPartOfTheFamily) {
  const PairedRatio borderline = comparison(1.05, 0.02);
  std::vector<PairedRatio> family(20, paired_ratio(Values{1, 2, 3}));
  family.push_back(borderline);
  EXPECT_EQ(find_verdicts(family).back().finding, Finding::faster);
}

// The study in small (tests/bench/coverage_study.cpp is the whole): each kind of noise at the size
// where it is worst, five rounds, bounds at four standard errors of 4,000 trials.
TEST(Verdicts, AreWrongAboutNullPairsNoMoreOftenThanTheySay) {
  constexpr int kTrials = 4000;
  for (const Disturbance kind : kDisturbances) {
    PairNoise noise({.kind = kind, .sigma = 0.02, .cells = 2, .seed = 7});
    int covered = 0, called = 0;
    for (int t = 0; t < kTrials; ++t) {
      const PairedRatio r = paired_ratio(noise.ratios(5, 1.0)[0]);
      covered += r.interval->contains(1.0) ? 1 : 0;
      called += find_verdicts(std::array{r})[0].finding == Finding::not_shown ? 0 : 1;
    }
    EXPECT_GE(covered, kTrials * 935 / 1000) << to_string(kind);
    EXPECT_LE(called, kTrials * 65 / 1000) << to_string(kind);
  }
}

TEST(Verdicts, AFamilyOfNullPairsIsWrongNoMoreOftenThanOne) {
  constexpr int kTrials = 1500;
  PairNoise noise({.kind = Disturbance::drift, .sigma = 0.1, .cells = 11, .seed = 11});
  int wrong = 0;
  for (int t = 0; t < kTrials; ++t) {
    std::vector<PairedRatio> family;
    for (const Values& ratios : noise.ratios(5, 1.0)) {
      family.push_back(paired_ratio(ratios));
    }
    const auto verdicts = find_verdicts(family);
    wrong += std::ranges::any_of(
        verdicts, [](const PairedVerdict& v) { return v.finding != Finding::not_shown; });
  }
  EXPECT_LE(wrong, kTrials * 7 / 100);
}

TEST(Verdicts, FindFivePercentInTenRoundsOfThreePercentNoise) {
  PairNoise noise(
      {.kind = Disturbance::none, .sigma = 0.03 / std::sqrt(2.0), .cells = 2, .seed = 3});
  int found = 0;
  for (int t = 0; t < 1000; ++t) {
    const PairedRatio r = paired_ratio(noise.ratios(10, 1.05)[0]);
    found += find_verdicts(std::array{r})[0].finding == Finding::faster ? 1 : 0;
  }
  EXPECT_GE(found, 950);
}

}  // namespace
}  // namespace blksweep
