#include "stats/student_t.h"

#include <cassert>
#include <cmath>
#include <initializer_list>
#include <numbers>

namespace blksweep {
namespace {

constexpr int kMostTerms = 10'000;
constexpr double kTiny = 1e-300, kExact = 1e-15;

// Of the incomplete beta function, by Lentz's method; converges for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  double c = 1;
  double d = 1 / (1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double i = m;
    const double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
    const double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (d == 0 ? kTiny : d);
      c = c == 0 ? kTiny : c;
      step = c * d;
      value *= step;
    }
    if (std::abs(step - 1) < kExact) {
      break;
    }
  }
  return value;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                   : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double density(double t, double freedom) {
  return std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) -
                  (freedom + 1) / 2 * std::log1p(t * t / freedom)) /
         std::sqrt(freedom * std::numbers::pi);
}

}  // namespace

double t_both_tails(double t, double freedom) {
  assert(freedom > 0);
  return std::isinf(t) ? 0 : incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

// Newton's steps, halving the bracket where one would leave it.
double t_quantile(double tails, double freedom) {
  assert(tails > 0 && tails < 1);
  double low = 0, high = 1;
  while (t_both_tails(high, freedom) > tails) {
    low = high;
    high *= 2;
  }
  double t = high;
  for (int step = 0; step < kMostTerms && low < high; ++step) {
    const double excess = t_both_tails(t, freedom) - tails;
    (excess > 0 ? low : high) = t;
    double next = t + excess / (2 * density(t, freedom));
    if (!(next > low && next < high)) {
      next = low + (high - low) / 2;
    }
    if (std::abs(next - t) <= kExact * t) {
      break;
    }
    t = next;
  }
  return t;
}

}  // namespace blksweep
