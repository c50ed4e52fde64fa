#include "stats/paired.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "stats/holm.h"
#include "stats/student_t.h"

namespace blksweep {
namespace {

// Ratios of equal times differ from 1 by rounding only; that is no effect.
constexpr double kRounding = 1e-12;

Interval as_ratios(const Interval& logs, double bias) {
  return {std::exp(logs.low - bias), std::exp(logs.high + bias)};
}

// What is left of a distance where the bias may have made part of it.
double beyond(double log_distance, double bias) {
  return std::copysign(std::max(std::abs(log_distance) - bias, 0.0), log_distance);
}

std::vector<double> logarithms(std::span<const double> ratios) {
  std::vector<double> logs(ratios.size());
  std::ranges::transform(ratios, logs.begin(), [](double r) { return std::log(r); });
  return logs;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_error(std::span<const double> values, double center) {
  double squares = 0;
  for (const double x : values) {
    squares += (x - center) * (x - center);
  }
  const auto n = static_cast<double>(values.size());
  return n < 2 ? 0 : std::sqrt(squares / (n - 1) / n);
}

double freedom(const PairedRatio& r) { return static_cast<double>(r.pairs - 1); }

// Of a standard error of 0 everything but rounding is certain.
double t_of(double log_distance, double log_error) {
  if (std::abs(log_distance) < kRounding) {
    return 0;
  }
  return log_distance / std::max(log_error, kRounding * std::abs(log_distance));
}

double one_tail(double t, double free) {
  const double tail = t_both_tails(t, free) / 2;
  return t > 0 ? tail : 1 - tail;
}

// Against both hypotheses that the ratio lies outside the margin.
double p_equal(const PairedRatio& r, double margin) {
  const double most = std::log1p(margin) - r.log_bias, log_ratio = std::log(r.value);
  return std::max(one_tail(t_of(log_ratio + most, r.log_error), freedom(r)),
                  one_tail(t_of(most - log_ratio, r.log_error), freedom(r)));
}

struct Tested {
  std::size_t at;
  double p;
};

}  // namespace

LogMean log_mean(std::span<const double> ratios) {
  if (ratios.empty()) {
    return {};
  }
  const std::vector<double> logs = logarithms(ratios);
  const double center = mean(logs);
  return {center, standard_error(logs, center)};
}

PairedRatio paired_ratio(std::span<const double> ratios, double error_rate, double log_bias) {
  assert(!ratios.empty());
  const std::vector<double> logs = logarithms(ratios);
  const auto [center, error] = log_mean(ratios);
  PairedRatio out{
      .pairs = ratios.size(), .value = std::exp(center), .log_error = error, .log_bias = log_bias};
  if (std::isinf(log_bias)) {
    return out;
  }
  if (out.pairs >= kLeastRounds) {
    const double half = t_quantile(error_rate, freedom(out)) * out.log_error;
    out.interval = as_ratios({center - half, center + half}, log_bias);
    out.p = t_both_tails(t_of(beyond(center, log_bias), out.log_error), freedom(out));
  }
  if (out.pairs >= kLeastRanked && out.pairs <= kMostRanked) {
    out.ranked = as_ratios(signed_rank_interval(logs, error_rate), log_bias);
  }
  return out;
}

std::vector<PairedVerdict> find_verdicts(std::span<const PairedRatio> family,
                                         const VerdictSettings& settings) {
  std::vector<PairedVerdict> out(family.size());
  std::vector<Tested> different, equal;
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (family[i].p) {
      different.push_back({i, *family[i].p});
      equal.push_back({i, settings.margin ? p_equal(family[i], *settings.margin) : 1});
    }
  }
  const std::size_t shown = holm(different, settings.error_rate, &Tested::p);
  const auto left = static_cast<double>(different.size() - shown);
  for (std::size_t k = 0; k < different.size(); ++k) {
    const PairedRatio& r = family[different[k].at];
    PairedVerdict& v = out[different[k].at];
    v.finding = k >= shown ? Finding::not_shown : r.value > 1 ? Finding::faster : Finding::slower;
    if (k >= shown) {
      v.detectable =
          std::expm1(t_quantile(settings.error_rate / left, freedom(r)) * r.log_error + r.log_bias);
    }
  }
  const std::size_t held = holm(equal, settings.error_rate, &Tested::p);
  for (std::size_t k = 0; k < held; ++k) {
    out[equal[k].at].equal = true;
  }
  return out;
}

}  // namespace blksweep
