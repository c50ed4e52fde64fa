// Paired comparison: what a handful of rounds say about the ratio of two cells, with the error that
// is claimed for it. The method, the study that chose it and what it cannot do: docs/statistics.md.
//
// Pairs:     the ratio of one round is one value; both cells ran in it, in an order drawn at
//            random, so that drift of the node falls on either with equal chance.
// Estimate:  geometric mean of the ratios; its interval is Student's t on their logarithms.
// Beside it: the interval of the signed-rank test (Hodges and Lehmann, Annals of Mathematical
//            Statistics 34(2), 1963), exact by the random order alone; no outlier moves it far.
// Verdict:   faster or slower when the t test says so after Holm's correction (Scandinavian Journal
//            of Statistics 6(2), 1979) over all comparisons with one baseline: the chance of one
//            wrong word among them is 5 %. Equal only by two one-sided tests (Schuirmann, Journal
//            of Pharmacokinetics and Biopharmaceutics 15, 1987) against a margin that somebody
//            named.
// Coarse:    what all ratios may be off by alike (steps of a clock) no number of rounds averages
//            away: it widens intervals, and the test asks for a distance beyond it.
// Unknown:   no interval and no verdict from fewer than kLeastRounds pairs.
// Threads:   pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/signed_rank.h"

namespace blksweep {

inline constexpr std::size_t kLeastRounds = 5;
inline constexpr std::size_t kLeastRanked = 6;   // five ranks cannot reach 95 %
inline constexpr std::size_t kMostRanked = 200;  // beyond, the mean is as good and ranks cost n^3
inline constexpr double kErrorRate = 0.05;       // of every interval, and of a family of verdicts
// The same where rounds were added until intervals were narrow (stats/precision.h): with t at this
// rate intervals cover 95 % there, and 5 % of families have a wrong word.
inline constexpr double kStoppedErrorRate = 0.03;

struct LogMean {
  double value = 0, error = 0;  // mean logarithm and its standard error
};
// REQUIRES: all positive. Of nothing: 0.
LogMean log_mean(std::span<const double> ratios);

struct PairedRatio {
  std::size_t pairs = 0;
  double value = 0;                                 // geometric mean
  double log_error = 0;                             // standard error of the mean logarithm
  std::optional<Interval> interval = std::nullopt;  // 95 %, of this comparison alone
  std::optional<Interval> ranked = std::nullopt;    // 95 % or a little more, by signed ranks
  std::optional<double> p = std::nullopt;           // of the t test against a ratio of 1
  double log_bias = 0;                              // most that the mean logarithm may be off by
};

// Of an infinite log_bias there is an estimate alone. REQUIRES: not empty, all positive.
PairedRatio paired_ratio(std::span<const double> ratios, double error_rate = kErrorRate,
                         double log_bias = 0);

enum class Finding { none, not_shown, faster, slower };

struct PairedVerdict {
  Finding finding = Finding::none;  // none: too few pairs
  // Not shown: a mean ratio of 1 + this (or its inverse) would have been, in this family and noise.
  std::optional<double> detectable = std::nullopt;
  bool equal = false;  // shown to be within the margin

  bool differs() const { return finding == Finding::faster || finding == Finding::slower; }
};

struct VerdictSettings {
  double error_rate = kErrorRate;
  std::optional<double> margin = std::nullopt;  // 0.03: equal means between 1 / 1.03 and 1.03
};

// One for each comparison with the same baseline, in their order.
std::vector<PairedVerdict> find_verdicts(std::span<const PairedRatio> family,
                                         const VerdictSettings& settings = {});

}  // namespace blksweep
