#include "stage/cuda/gemm_plan.h"

#include <algorithm>
#include <cmath>

namespace blksweep {

std::vector<GemmCount> plan_gemm(std::span<const GemmSize> sizes, double asked_ns) {
  std::vector<GemmSize> longest_first(sizes.begin(), sizes.end());
  // Small ones can take the same time, where they do not fill the GPU: the larger is the better.
  std::ranges::sort(longest_first, [](const GemmSize& a, const GemmSize& b) {
    return a.ns != b.ns ? a.ns > b.ns : a.n > b.n;
  });
  std::vector<GemmCount> plan;
  double left = asked_ns;
  for (const GemmSize& s : longest_first) {
    const bool last = s.n == longest_first.back().n;
    const double fit = left / s.ns;
    const auto times = static_cast<std::uint64_t>(std::max(0.0, last ? std::round(fit) : fit));
    if (times > 0) {
      plan.push_back({s.n, times});
      left -= static_cast<double>(times) * s.ns;
    }
  }
  if (plan.empty() && asked_ns > 0) {
    plan.push_back({longest_first.back().n, 1});
  }
  return plan;
}

double planned_ns(std::span<const GemmSize> sizes, std::span<const GemmCount> plan) {
  double sum = 0;
  for (const GemmCount& c : plan) {
    const auto size = std::ranges::find(sizes, c.n, &GemmSize::n);
    sum += static_cast<double>(c.times) * (size == sizes.end() ? 0 : size->ns);
  }
  return sum;
}

}  // namespace blksweep
