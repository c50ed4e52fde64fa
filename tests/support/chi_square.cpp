#include "support/chi_square.h"

#include <cmath>

namespace blksweep::support {
namespace {

constexpr int kSteps = 10000;
constexpr double kEnough = 1e-14;

// Lower regularised incomplete gamma P(a, x), good for x < a + 1.
double gamma_by_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < kSteps && std::abs(term) > std::abs(sum) * kEnough; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

// Upper regularised incomplete gamma Q(a, x), good for x >= a + 1 (Lentz's method).
double gamma_by_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double h = d;
  for (int n = 1; n < kSteps; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + an / c;
    c = std::abs(c) < kTiny ? kTiny : c;
    h *= d * c;
    if (std::abs(d * c - 1) < kEnough) {
      break;
    }
  }
  return h * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

double chi_square(std::span<const std::uint64_t> counts, double expected) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double d = static_cast<double>(count) - expected;
    sum += d * d / expected;
  }
  return sum;
}

double chi_square_tail(double x, double freedom) {
  if (x <= 0) {
    return 1;
  }
  const double a = freedom / 2;
  return x / 2 < a + 1 ? 1 - gamma_by_series(a, x / 2) : gamma_by_fraction(a, x / 2);
}

}  // namespace blksweep::support
