// Bootstrap: how sure a median, or the ratio of two cells, is, from a handful of repeats.
//
// Percentile bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13).
// Ratios are paired: repeat i of one cell is divided by repeat i of the other, which ran next to
// it, so that slow drift of the device cancels. Limits:   an interval from n repeats stays within
// their range, and so it covers the true value
//           in at most 1 - 2^(1-n) of cases (all repeats fall on one side of it by chance):
//           75 % for n = 3, 94 % for n = 5, 97 % for n = 6. coverage_bound() says so; a report
//           prints it.
// Unknown:  no interval from fewer than two repeats.
// Threads:  pure functions; the same seed gives the same interval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace blksweep {

struct Interval {
  double low = 0, high = 0;
  bool contains(double x) const { return low <= x && x <= high; }
};

struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};

struct BootstrapSettings {
  std::uint64_t seed = 1;
  std::uint32_t resamples = 10'000;
  double confidence = 0.95;
};

// REQUIRES: not empty.
double median(std::span<const double> values);
// Value at share q of the sorted values, between neighbours linearly. REQUIRES: not empty.
double quantile(std::span<const double> sorted, double q);

// REQUIRES: not empty.
Estimate bootstrap_median(std::span<const double> values, const BootstrapSettings& settings = {});
// Geometric mean of a[i] / b[i]. REQUIRES: same size, not empty, all positive.
Estimate bootstrap_ratio(std::span<const double> a, std::span<const double> b,
                         const BootstrapSettings& settings = {});

// The greatest share of cases in which any interval within the range of n values can be right.
double coverage_bound(std::size_t n);

}  // namespace blksweep
