#include "stats/unpaired.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/holm.h"
#include "stats/student_t.h"

namespace blksweep {
namespace {

constexpr double kSurelyNothing = 1e-12;  // of logarithms: rounding

}  // namespace

UnpairedRatio unpaired_ratio(std::span<const double> of, std::span<const double> to,
                             double error_rate) {
  const LogMean a = log_mean(of), b = log_mean(to);
  const double distance = a.value - b.value;
  UnpairedRatio out{.of = of.size(), .to = to.size(), .value = std::exp(distance)};
  if (std::min(of.size(), to.size()) < kLeastRounds) {
    return out;
  }
  const double variance = a.error * a.error + b.error * b.error;
  const auto part = [](const LogMean& m, std::size_t n) {
    return m.error * m.error * m.error * m.error / static_cast<double>(n - 1);
  };
  const double parts = part(a, of.size()) + part(b, to.size());
  const double freedom =
      parts > 0 ? variance * variance / parts : static_cast<double>(of.size() + to.size() - 2);
  const double error = std::max(std::sqrt(variance), kSurelyNothing * std::abs(distance));
  const double half = t_quantile(error_rate, freedom) * error;
  out.interval = Interval{std::exp(distance - half), std::exp(distance + half)};
  out.p = std::abs(distance) < kSurelyNothing ? 1.0 : t_both_tails(distance / error, freedom);
  return out;
}

void show_differences(std::span<UnpairedRatio* const> family, double error_rate) {
  std::vector<UnpairedRatio*> tested;
  std::ranges::copy_if(family, std::back_inserter(tested),
                       [](const UnpairedRatio* r) { return r->p.has_value(); });
  const std::size_t held = holm(tested, error_rate, [](const UnpairedRatio* r) { return *r->p; });
  std::for_each_n(tested.begin(), held, [](UnpairedRatio* r) { r->shown = true; });
}

}  // namespace blksweep
