#include "stats/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

// Percentile interval of `statistic` over resamples of `values` with replacement.
template <class Statistic>
std::optional<Interval> percentile_interval(std::span<const double> values,
                                            const BootstrapSettings& settings,
                                            Statistic statistic) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  Rng rng(settings.seed);
  std::vector<double> sample(values.size());
  std::vector<double> estimates(settings.resamples);
  for (double& estimate : estimates) {
    for (double& x : sample) {
      x = values[rng.below(values.size())];
    }
    estimate = statistic(sample);
  }
  std::ranges::sort(estimates);
  const double tail = (1 - settings.confidence) / 2;
  return Interval{quantile(estimates, tail), quantile(estimates, 1 - tail)};
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) {
    sum += x;
  }
  return sum / static_cast<double>(values.size());
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  assert(!sorted.empty());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return quantile(sorted, 0.5);
}

Estimate bootstrap_median(std::span<const double> values, const BootstrapSettings& settings) {
  return {median(values), percentile_interval(values, settings, median)};
}

Estimate bootstrap_ratio(std::span<const double> a, std::span<const double> b,
                         const BootstrapSettings& settings) {
  assert(a.size() == b.size());
  std::vector<double> logs(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    logs[i] = std::log(a[i] / b[i]);
  }
  Estimate ratio{std::exp(mean(logs)), percentile_interval(logs, settings, mean)};
  if (ratio.interval) {
    *ratio.interval = {std::exp(ratio.interval->low), std::exp(ratio.interval->high)};
  }
  return ratio;
}

double coverage_bound(std::size_t n) {
  return n == 0 ? 0 : 1 - std::exp2(1 - static_cast<double>(n));
}

}  // namespace blksweep
