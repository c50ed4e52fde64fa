// What may be said of a mean ratio while rounds are still being added, however often somebody
// looks.
//
// Test:     G_n = sqrt(1 / (n + 1)) * ((n + 1) V / ((n + 1) V - S^2))^(n / 2), where S is the sum
//           of n logarithms and V that of their squares. For normal logarithms of mean 0 and any
//           variance it is a test martingale: Wang and Ramdas, "Anytime-valid t-tests and
//           confidence sequences for Gaussian means with unknown variance", arXiv 2310.03722,
//           Theorem 4.9, with c = 1 (an effect of about one standard deviation is sought first).
//           By Ville's inequality the chance that it ever reaches 1 / p is at most p.
// Not this: an interval of paired_ratio() excludes 1 at some round far too often, when one looks
//           after each (docs/statistics.md has the figures).
// Threads:  pure functions.
#pragma once

#include <span>
#include <vector>

#include "stats/paired.h"

namespace blksweep {

// Of words while rounds go on; with kStoppedErrorRate it makes 5 % in all (docs/statistics.md).
inline constexpr double kRunningErrorRate = 0.02;

// Against a ratio of 1, over every look from kLeastRounds ratios on; 1 before. Never rises as
// ratios are added. REQUIRES: all positive.
double anytime_p(std::span<const double> ratios);

// Of each comparison with one baseline, in their order, after Holm's correction: faster, slower, or
// not shown so far. What is said once stays said, but for its side.
std::vector<Finding> findings_so_far(std::span<const std::vector<double>> family,
                                     double error_rate = kRunningErrorRate);

}  // namespace blksweep
