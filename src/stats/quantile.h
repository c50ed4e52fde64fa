// Quantiles of a handful of values.
//
// Threads: pure functions.
#pragma once

#include <span>

namespace blksweep {

// REQUIRES: not empty.
double median(std::span<const double> values);
// Value at share q of the sorted values, between neighbours linearly. REQUIRES: not empty.
double quantile(std::span<const double> sorted, double q);

}  // namespace blksweep
