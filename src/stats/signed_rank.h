// The interval of Wilcoxon's signed-rank test: means of two values each (Walsh averages), sorted,
// without as many at either end as the test's exact distribution allows.
//
// Covers:  the centre of any symmetric distribution in at least 1 - tails of cases, outliers or
//          not. The difference of two cells in a round is symmetric about the effect when a coin
//          decides which of them runs first, whatever the noise.
// Limits:  from too few values (fewer than 6 for 5 %) it is the whole range, which covers less.
// Cost:    n^3 of n values.
// Threads: pure functions.
// Source:  Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., 3.1 to 3.4.
#pragma once

#include <span>

namespace blksweep {

struct Interval {
  double low = 0, high = 0;
  bool contains(double x) const { return low <= x && x <= high; }
};

// REQUIRES: not empty.
Interval signed_rank_interval(std::span<const double> values, double tails);

}  // namespace blksweep
