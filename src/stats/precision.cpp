#include "stats/precision.h"

#include <algorithm>
#include <cmath>

#include "stats/student_t.h"

namespace blksweep {
namespace {

double t_after(double pairs) { return t_quantile(kStoppedErrorRate, pairs - 1); }

// Pairs after which an interval of this variance is within `wanted` of its logarithm, at most
// `most`.
double pairs_needed(const LogMean& m, double pairs, double wanted, double most) {
  const double deviation = m.error * std::sqrt(pairs);
  double needed = double{kPilotRounds};
  for (int step = 0; step < 20; ++step) {  // settles within a handful
    const double share = t_after(needed) * deviation / wanted;
    const double next = std::clamp(std::ceil(share * share), double{kPilotRounds}, most);
    if (next == needed) {
      break;
    }
    needed = next;
  }
  return needed;
}

}  // namespace

PrecisionState precision_of(std::span<const std::vector<double>> series, std::size_t rounds,
                            const PrecisionRule& rule, std::span<const double> log_biases) {
  const double wanted = std::log1p(rule.half_width);
  PrecisionState state{.rounds_expected = std::max(rounds, kPilotRounds)};
  bool unknown = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t pairs = series[i].size();
    const double bias = log_biases.empty() ? 0 : log_biases[i];
    if (pairs == 0 && rounds >= kPilotRounds) {
      continue;
    }
    ++state.intervals;
    if (std::isinf(bias)) {
      ++state.never;
      continue;
    }
    if (pairs < kLeastRounds) {
      unknown = true;
      continue;
    }
    const LogMean mean = log_mean(series[i]);
    const auto n = static_cast<double>(pairs);
    const double width = std::expm1(t_after(n) * mean.error + bias);
    if (width > state.half_width.value_or(-1)) {
      state.half_width = width;
      state.widest = i;
    }
    if (pairs >= kPilotRounds && width <= rule.half_width) {
      ++state.reached;
      continue;
    }
    if (bias >= wanted) {
      ++state.never;
      continue;
    }
    const auto most = static_cast<double>(rule.most_rounds);
    const double more = std::max(1.0, pairs_needed(mean, n, wanted - bias, most) - n);
    state.rounds_expected =
        std::max(state.rounds_expected, rounds + static_cast<std::size_t>(more));
  }
  state.half_width = unknown ? std::nullopt : state.half_width;
  state.rounds_expected = std::max(rounds, std::min(state.rounds_expected, rule.most_rounds));
  return state;
}

StopReason stop_reason(const PrecisionState& state, std::size_t rounds, Nanos elapsed,
                       const PrecisionRule& rule) {
  if (rounds >= kPilotRounds && state.intervals == 0) {
    return StopReason::no_pairs;
  }
  if (rounds >= kPilotRounds && state.reached + state.never == state.intervals) {
    return state.never == 0 ? StopReason::precision : StopReason::clock;
  }
  if (rounds >= rule.most_rounds) {
    return StopReason::repeats_max;
  }
  return rule.time_limit && elapsed >= *rule.time_limit ? StopReason::time_limit : StopReason::none;
}

}  // namespace blksweep
