// The ratio of two sets of runs that are no pairs: of two sessions, or of two nodes.
//
// Estimate: ratio of the geometric means; its interval is Welch's t (Biometrika 34(1/2), 1947) on
//           logarithms, with Satterthwaite's degrees of freedom: the two need not have equal noise.
// Bears:    the noise between the runs of either set, as if they were independent. What sessions
//           as wholes differ by (drift, another day) is in the estimate and not in the interval:
//           one session each cannot tell it from an effect (docs/statistics.md).
// Family:   shown where Holm's correction over all comparisons leaves 5 %.
// Unknown:  no interval from fewer than kLeastRounds runs on either side.
// Threads:  pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/paired.h"

namespace blksweep {

struct UnpairedRatio {
  std::size_t of = 0, to = 0;                       // how many values on either side
  double value = 0;                                 // geometric mean of `of` over that of `to`
  std::optional<Interval> interval = std::nullopt;  // 95 %, of this comparison alone
  std::optional<double> p = std::nullopt;           // against a ratio of 1
  bool shown = false;                               // to differ from 1, in its family
};

// REQUIRES: neither is empty, all positive.
UnpairedRatio unpaired_ratio(std::span<const double> of, std::span<const double> to,
                             double error_rate = kErrorRate);

// Sets `shown` of each.
void show_differences(std::span<UnpairedRatio* const> family, double error_rate = kErrorRate);

}  // namespace blksweep
