// What adding rounds until intervals are narrow costs in coverage and wrong words, by simulation
// through the functions that `run --repeats auto` uses (src/stats/precision.h, stats/anytime.h), in
// the words of docs/statistics.md, which shows its output.
//
//   stopping_study [TRIALS]      default 10000; a quarter of an hour of one CPU
//
// exit: 0 every bound of the page holds, 1 one does not (the line says FAIL).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stats/anytime.h"
#include "stats/precision.h"
#include "stats/student_t.h"
#include "support/pair_noise.h"
#include "support/study.h"

namespace blksweep {
namespace {

using study::held;
using study::trials;
using Values = std::vector<double>;

constexpr std::array kSigmas{0.02, 0.10, 0.30};
// Half-widths that are asked, in standard deviations of a pair: about 12, 20, 40 and 75 rounds of
// independent noise.
constexpr std::array kShares{0.75, 0.5, 0.35, 0.25};
constexpr std::size_t kMostRounds = 100;
constexpr double kLeastCover = 95, kMostCalled = 5;  // percent, but for chance of so many trials

// Three standard errors of a share near 5 %.
double chance() { return 100 * 3 * std::sqrt(0.05 * 0.95 / trials); }

double t_at(double error_rate, std::size_t pairs) {
  static std::array<std::vector<double>, 2> known;  // a quantile costs more than a trial
  std::vector<double>& of_rate = known[error_rate == kErrorRate ? 0 : 1];
  of_rate.resize(std::max(of_rate.size(), pairs + 1), 0);
  double& t = of_rate[pairs];
  t = t == 0 ? t_quantile(error_rate, static_cast<double>(pairs - 1)) : t;
  return t;
}

// Mean and standard error of the first n logarithms, for every n.
struct Path {
  std::vector<LogMean> mean;
};

Path path_of(const Values& ratios) {
  Path path;
  for (std::size_t n = 1; n <= ratios.size(); ++n) {
    path.mean.push_back(log_mean(std::span(ratios).first(n)));
  }
  return path;
}

// One rule in one experiment whose true ratio is 1.
struct Outcome {
  std::size_t rounds = 0;
  bool covers = false;
};

Outcome until_narrow(const Path& path, double half_width, double error_rate) {
  for (std::size_t n = kPilotRounds;; ++n) {
    const LogMean& m = path.mean[n - 1];
    const double half = t_at(error_rate, n) * m.error;
    if (std::expm1(half) <= half_width || n == kMostRounds) {
      return {n, std::abs(m.value) <= half};
    }
  }
}

// Stein: the pilot's deviation says how many rounds, and is the interval's, too.
Outcome stein(const Path& path, double half_width) {
  const double deviation = path.mean[kPilotRounds - 1].error * std::sqrt(double{kPilotRounds});
  const double t = t_at(kErrorRate, kPilotRounds);
  const double wanted = std::pow(t * deviation / std::log1p(half_width), 2);
  const auto n = static_cast<std::size_t>(
      std::clamp(std::ceil(wanted), double{kPilotRounds}, double{kMostRounds}));
  return {n, std::abs(path.mean[n - 1].value) <= t * deviation / std::sqrt(static_cast<double>(n))};
}

// What blksweep does, through its own functions.
struct Run {
  Outcome outcome;
  bool called = false, called_so_far = false;
};

Run by_precision(const Values& ratios, const PrecisionRule& rule) {
  std::vector<Values> so_far{Values(ratios.begin(), ratios.begin() + kPilotRounds)};
  std::size_t n = kPilotRounds;
  while (stop_reason(precision_of(so_far, n, rule), n, Nanos{0}, rule) == StopReason::none) {
    so_far[0].push_back(ratios[n++]);
  }
  const PairedRatio r = paired_ratio(so_far[0], kStoppedErrorRate);
  const auto verdict = find_verdicts(std::array{r}, {.error_rate = kStoppedErrorRate})[0];
  return {{n, r.interval->contains(1.0)},
          verdict.finding != Finding::not_shown,
          findings_so_far(so_far)[0] != Finding::not_shown};
}

bool naive_ever(const Path& path) {
  for (std::size_t n = kLeastRounds; n <= kMostRounds; ++n) {
    if (std::abs(path.mean[n - 1].value) > t_at(kErrorRate, n) * path.mean[n - 1].error) {
      return true;
    }
  }
  return false;
}

struct Sums {
  double rounds = 0, covers = 0;
  void add(const Outcome& o) {
    rounds += static_cast<double>(o.rounds) / trials;
    covers += o.covers ? 100.0 / trials : 0;
  }
};

void line(Disturbance kind, double sigma, double share) {
  const PrecisionRule rule{.half_width = std::expm1(sigma * std::sqrt(2.0) * share),
                           .most_rounds = kMostRounds};
  PairNoise noise({.kind = kind, .sigma = sigma, .seed = static_cast<std::uint64_t>(sigma * 1000)});
  Sums ours, narrow, two_stage;
  double called = 0, ever = 0;
  for (int t = 0; t < trials; ++t) {
    const Values ratios = noise.ratios(kMostRounds, 1.0)[0];
    const Path path = path_of(ratios);
    const Run run = by_precision(ratios, rule);
    ours.add(run.outcome);
    narrow.add(until_narrow(path, rule.half_width, kErrorRate));
    two_stage.add(stein(path, rule.half_width));
    called += run.called ? 100.0 / trials : 0;
    ever += run.called || run.called_so_far ? 100.0 / trials : 0;
  }
  const bool good = ours.covers >= kLeastCover - chance() && ever <= kMostCalled + chance();
  fmt::print(
      "| {}, {:.0f} % | {:.2f} | {:.0f} | {:.1f} | {:.1f} | {:.1f}{} | {:.0f} | {:.1f} | {:.0f} | "
      "{:.1f} |\n",
      to_string(kind), sigma * 100, share, ours.rounds, ours.covers, called, ever, held(good),
      narrow.rounds, narrow.covers, two_stage.rounds, two_stage.covers);
}

void rule_table() {
  fmt::print(
      "\n| noise of a run | asked | rounds | covers | called | called, looks included | at 5 %: "
      "rounds | covers | Stein: rounds | covers |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Disturbance kind : kDisturbances) {
    for (const double sigma : kSigmas) {
      for (const double share : kShares) {
        line(kind, sigma, share);
      }
    }
  }
}

// Any of ten null cells, looked at after every round.
void family_table() {
  fmt::print(
      "\n| noise of a run | asked | rounds | covers, each | any of ten called |\n"
      "| --- | ---: | ---: | ---: | ---: |\n");
  const int all = std::exchange(trials, std::max(trials / 10, 100));
  for (const Disturbance kind : kDisturbances) {
    const PrecisionRule rule{.half_width = std::expm1(0.1 * std::sqrt(2.0) * 0.35),
                             .most_rounds = kMostRounds};
    PairNoise noise({.kind = kind, .sigma = 0.1, .cells = 11});
    double rounds = 0, covers = 0, called = 0;
    for (int t = 0; t < trials; ++t) {
      const std::vector<Values> ratios = noise.ratios(kMostRounds, 1.0);
      std::size_t n = kPilotRounds - 1;
      std::vector<Values> so_far(ratios.size());
      do {
        ++n;
        for (std::size_t c = 0; c < ratios.size(); ++c) {
          so_far[c].assign(ratios[c].begin(), ratios[c].begin() + static_cast<std::ptrdiff_t>(n));
        }
      } while (stop_reason(precision_of(so_far, n, rule), n, Nanos{0}, rule) == StopReason::none);
      std::vector<PairedRatio> family;
      for (const Values& values : so_far) {
        family.push_back(paired_ratio(values, kStoppedErrorRate));
        covers += family.back().interval->contains(1.0) ? 10.0 / trials : 0;
      }
      const auto shown = [](Finding f) { return f != Finding::not_shown; };
      const bool word =
          std::ranges::any_of(find_verdicts(family, {.error_rate = kStoppedErrorRate}), shown,
                              &PairedVerdict::finding) ||
          std::ranges::any_of(findings_so_far(so_far), shown);
      called += word ? 100.0 / trials : 0;
      rounds += static_cast<double>(n) / trials;
    }
    fmt::print("| {}, 10 % | 0.35 | {:.0f} | {:.1f} | {:.1f}{} |\n", to_string(kind), rounds,
               covers, called, held(called <= kMostCalled + chance()));
  }
  trials = all;
}

// What looking after each of a hundred rounds does to a word.
void looking_table() {
  fmt::print(
      "\n| a null pair is called at some of 100 rounds | by t each time | by the test that "
      "is valid at any time, 5 % | 2 % |\n| --- | ---: | ---: | ---: |\n");
  for (const Disturbance kind : kDisturbances) {
    PairNoise noise({.kind = kind, .sigma = 0.1});
    double naive = 0, five = 0, two = 0;
    for (int t = 0; t < trials; ++t) {
      const Values ratios = noise.ratios(kMostRounds, 1.0)[0];
      naive += naive_ever(path_of(ratios)) ? 100.0 / trials : 0;
      const double p = anytime_p(ratios);
      five += p <= 0.05 ? 100.0 / trials : 0;
      two += p <= kRunningErrorRate ? 100.0 / trials : 0;
    }
    fmt::print("| {}, 10 % | {:.1f} | {:.1f}{} | {:.1f}{} |\n", to_string(kind), naive, five,
               held(five <= 5 + chance()), two, held(two <= 100 * kRunningErrorRate + chance()));
  }
}

void tables() {
  fmt::print("{} experiments a line (families: a tenth); percent; at most {} rounds.\n", trials,
             kMostRounds);
  rule_table();
  family_table();
  looking_table();
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  return blksweep::study::run(argc, argv, 10'000, blksweep::tables);
}
