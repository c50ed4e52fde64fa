// Rounds that stand out, and a drift over rounds: what a handful of values says of their own noise.
//
// Outlier: the robust z of Iglewicz and Hoaglin ("How to Detect and Handle Outliers", 1993): the
//          distance from the median over 1.4826 median absolute deviations. Its limit depends on
//          how many values there are: of normal ones any is beyond it in 1 % of cases
//          (tests/unit/quantile_test.cpp, Outliers).
// Drift:   least squares over the rounds; Student's t of the slope.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace blksweep {

inline constexpr std::size_t kLeastForOutliers = 5;

// Places of the values that stand out and are at least `least` away from the median; of fewer than
// kLeastForOutliers: none.
std::vector<std::size_t> outliers(std::span<const double> values, double least);
// The limit of the robust z of n values.
double outlier_limit(std::size_t n);

struct Drift {
  double total = 0;  // from the first to the last, on the line
  double p = 1;      // of the t test against none
};
// Of fewer than kLeastForOutliers: nothing.
std::optional<Drift> drift_of(std::span<const double> values);

}  // namespace blksweep
