#include "stats/anytime.h"

#include <algorithm>
#include <cmath>

namespace blksweep {
namespace {

// Logarithms of ratios of equal times are 0 but for rounding; that is no effect.
constexpr double kRoundingSquared = 1e-24;

double log_martingale(double sum, double squares, double n) {
  const double all = (n + 1) * squares;
  return (n * std::log(all / (all - sum * sum)) - std::log(n + 1)) / 2;
}

}  // namespace

double anytime_p(std::span<const double> ratios) {
  double sum = 0, squares = 0, n = 0, most = 0;
  for (const double ratio : ratios) {
    const double x = std::log(ratio);
    sum += x;
    squares += x * x;
    ++n;
    if (n >= double{kLeastRounds} && squares > n * kRoundingSquared) {
      most = std::max(most, log_martingale(sum, squares, n));
    }
  }
  return std::exp(-most);
}

std::vector<Finding> findings_so_far(std::span<const std::vector<double>> family,
                                     double error_rate) {
  std::vector<PairedRatio> tests;
  for (const std::vector<double>& ratios : family) {
    const LogMean mean = log_mean(ratios);
    tests.push_back({.pairs = ratios.size(), .value = std::exp(mean.value)});
    if (ratios.size() >= kLeastRounds) {
      tests.back().log_error = mean.error;
      tests.back().p = anytime_p(ratios);
    }
  }
  std::vector<Finding> out;
  for (const PairedVerdict& v : find_verdicts(tests, {.error_rate = error_rate})) {
    out.push_back(v.finding);
  }
  return out;
}

}  // namespace blksweep
