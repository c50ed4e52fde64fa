#include "stats/quantile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace blksweep {

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

}  // namespace blksweep
