// When to stop adding rounds: as soon as every interval is narrow enough (`--repeats auto`).
//
// Rule:     a pilot of ten rounds; then, after each round, whether the half-width of every interval
//           is at most what was asked. Only widths decide, never which side is faster.
// Interval: Student's t on the logarithms, at kStoppedErrorRate: an interval on whose width rounds
//           were stopped has met a variance that came out low, and at 95 % would cover as little
//           as 93.2 %. Which rule and which rate: the study in docs/statistics.md.
// Width:    relative, of ratios: 0.02 is from value / 1.02 to value * 1.02.
// Left out: a series without any pair when the pilot is over: nothing will come of it. What a bias
//           alone (a clock's step) makes wider than asked counts, and is not waited for either.
// Threads:  pure functions.
// Source:   Chow and Robbins, Annals of Mathematical Statistics 36(2), 1965: rounds until an
//           interval is as narrow as asked; Stein, ibid. 16(3), 1945: two stages.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "stats/paired.h"

namespace blksweep {

inline constexpr std::size_t kPilotRounds = 10;

struct PrecisionRule {
  double half_width = 0.02;
  std::size_t most_rounds = 100;
  std::optional<Nanos> time_limit = std::nullopt;
};

struct PrecisionState {
  std::size_t intervals = 0;  // that are looked at
  std::size_t reached = 0;    // that are narrow enough
  std::size_t never = 0;      // that no number of rounds makes narrow enough
  // Of the widest, and which that is; unknown while one has fewer than kLeastRounds pairs.
  std::optional<double> half_width = std::nullopt;
  std::size_t widest = 0;
  std::size_t rounds_expected = 0;  // in all, at the variance so far
};

// `series`: what each interval is of, pair by pair, all positive; `rounds`: that there were;
// `log_biases`: of each series as in PairedRatio (none given: 0).
PrecisionState precision_of(std::span<const std::vector<double>> series, std::size_t rounds,
                            const PrecisionRule& rule, std::span<const double> log_biases = {});

// clock: what is narrow enough is all that rounds can make so.
enum class StopReason { none, precision, repeats_max, time_limit, no_pairs, clock };

// After `rounds` rounds, in `elapsed`. none: another round.
StopReason stop_reason(const PrecisionState& state, std::size_t rounds, Nanos elapsed,
                       const PrecisionRule& rule);

}  // namespace blksweep
