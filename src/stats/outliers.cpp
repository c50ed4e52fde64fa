#include "stats/outliers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "stats/quantile.h"
#include "stats/student_t.h"

namespace blksweep {
namespace {

constexpr double kToDeviation = 1.4826;  // of a normal distribution: MAD to standard deviation

// 200,000 samples of normal values each; between them the limit of the fewer holds.
constexpr std::array<std::pair<std::size_t, double>, 11> kLimits{{{5, 18.7},
                                                                  {6, 10.7},
                                                                  {8, 8.2},
                                                                  {10, 6.85},
                                                                  {12, 6.3},
                                                                  {15, 6.0},
                                                                  {20, 5.2},
                                                                  {30, 4.8},
                                                                  {50, 4.5},
                                                                  {100, 4.35},
                                                                  {1000, 4.4}}};

}  // namespace

double outlier_limit(std::size_t n) {
  double limit = kLimits.front().second;
  for (const auto& [from, value] : kLimits) {
    limit = from <= n ? value : limit;
  }
  return limit;
}

std::vector<std::size_t> outliers(std::span<const double> values, double least) {
  std::vector<std::size_t> found;
  if (values.size() < kLeastForOutliers) {
    return found;
  }
  const double centre = median(values);
  std::vector<double> away(values.size());
  std::ranges::transform(values, away.begin(), [&](double x) { return std::abs(x - centre); });
  const double limit = outlier_limit(values.size()) * kToDeviation * median(away);
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (away[i] > limit && away[i] >= least) {
      found.push_back(i);
    }
  }
  return found;
}

std::optional<Drift> drift_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < kLeastForOutliers) {
    return std::nullopt;
  }
  double sum = 0, with_place = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    with_place += values[i] * (static_cast<double>(i) - (n - 1) / 2);
  }
  const double spread = n * (n * n - 1) / 12;
  const double slope = with_place / spread;
  double rest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double line = sum / n + slope * (static_cast<double>(i) - (n - 1) / 2);
    rest += (values[i] - line) * (values[i] - line);
  }
  const double error = std::sqrt(rest / (n - 2) / spread);
  return Drift{slope * (n - 1), error > 0    ? t_both_tails(slope / error, n - 2)
                                : slope == 0 ? 1.0
                                             : 0.0};
}

}  // namespace blksweep
