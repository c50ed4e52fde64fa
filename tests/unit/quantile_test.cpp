#include "stats/quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "base/rng.h"
#include "stats/outliers.h"

namespace blksweep {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(median(Values{5}), 5);
  EXPECT_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_EQ(median(Values{4, 1, 2, 9}), 3);
}

TEST(Quantile, LiesBetweenNeighboursLinearly) {
  EXPECT_EQ(quantile(Values{1, 3}, 0), 1);
  EXPECT_EQ(quantile(Values{1, 3}, 0.25), 1.5);
  EXPECT_EQ(quantile(Values{1, 3}, 1), 3);
}

// Fewer values have a greater limit: for a count between two of the table it errs to the safe side.
TEST(OutlierLimit, IsThatOfTheNextSmallerCountInTheTable) {
  std::vector<std::size_t> steps;
  for (std::size_t n = 6; n <= 200; ++n) {
    if (outlier_limit(n) != outlier_limit(n - 1)) {
      steps.push_back(n);
    }
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{6, 8, 10, 12, 15, 20, 30, 50, 100}));
  EXPECT_GT(outlier_limit(5), outlier_limit(6));
  EXPECT_EQ(outlier_limit(1000), outlier_limit(5000));
  EXPECT_NE(outlier_limit(999), outlier_limit(1000));
}

TEST(Outliers, OfNormalValuesAreFoundInOneSessionOfAHundred) {
  Rng rng(1);
  for (const std::size_t n : {5U, 6U, 7U, 9U, 10U, 14U, 20U, 40U, 100U}) {
    int found = 0;
    constexpr int kTrials = 4000;
    for (int t = 0; t < kTrials; ++t) {
      std::vector<double> values(n);
      for (double& x : values) {
        x = rng.normal();
      }
      found += outliers(values, 0).empty() ? 0 : 1;
    }
    EXPECT_LE(found, kTrials * 16 / 1000) << n << " values";
  }
}

TEST(Outliers, AreFarAwayAndLargeEnough) {
  const std::vector<double> values{0.01, 0.0, -0.01, 0.02, 0.005, 0.4, -0.005, 0.0, 0.012, 0.003};
  EXPECT_EQ(outliers(values, 0.05), (std::vector<std::size_t>{5}));
  EXPECT_TRUE(outliers(values, 0.5).empty());
  EXPECT_TRUE(outliers(std::vector<double>{0, 0, 9}, 0).empty());
}

TEST(Outliers, OfEqualValuesThereAreNone) {
  for (std::size_t n = 1; n < 40; ++n) {
    EXPECT_TRUE(outliers(Values(n, 3.5), 0).empty()) << n << " values";
  }
}

TEST(Drift, IsThatOfALine) {
  std::vector<double> line;
  for (int i = 0; i < 8; ++i) {
    line.push_back(1 + 0.5 * i + (i % 2 == 0 ? 0.01 : -0.01));
  }
  const auto drift = drift_of(line);
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->total, 3.5 - 0.28 / 42, 1e-12);  // least squares by hand
  EXPECT_LT(drift->p, 1e-6);
  EXPECT_FALSE(drift_of(std::vector<double>{1, 2, 3, 4}));
}

// 1 3 2 5 4: a slope of 0.8, residuals of 3.6 in all, so t = 4 / sqrt(3) of 3 degrees of freedom.
TEST(Drift, HasTheProbabilityOfStudentsT) {
  const Values with_more{1, 3, 2, 5, 4, 1e9, 1e9};
  const auto drift = drift_of(std::span(with_more).first(5));
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->total, 3.2, 1e-12);
  const double x = 4.0 / 3;
  EXPECT_NEAR(drift->p, 1 - 2 / std::numbers::pi * (x / (1 + x * x) + std::atan(x)), 1e-9);
}

TEST(Drift, OfValuesThatLieOnALineIsCertain) {
  EXPECT_EQ(drift_of(Values{1, 2, 3, 4, 5})->p, 0);
  EXPECT_EQ(drift_of(Values{5, 4, 3, 2, 1})->total, -4);
  EXPECT_EQ(drift_of(Values{2, 2, 2, 2, 2})->p, 1);
}

}  // namespace
}  // namespace blksweep
