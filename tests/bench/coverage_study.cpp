// How often intervals cover and verdicts are wrong, by simulation through the functions that
// `report` uses (src/stats/paired.h), in the words of docs/statistics.md, which shows its output.
//
//   coverage_study [TRIALS]      default 20000; some minutes of one CPU
//
// exit: 0 every bound of the page holds, 1 one does not (the line says FAIL).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "stats/paired.h"
#include "stats/quantile.h"
#include "stats/student_t.h"
#include "support/pair_noise.h"
#include "support/study.h"

namespace blksweep {
namespace {

using study::held;
using study::trials;
using Values = std::vector<double>;

constexpr std::array kSigmas{0.02, 0.10, 0.30};
constexpr std::array<std::size_t, 6> kRounds{2, 3, 5, 6, 10, 30};
constexpr double kEffect = 1.25;  // true ratio where coverage is asked

// Bounds of the page, in percent; of coverage in whole ones.
constexpr double kLeastCover = 93, kMostCover = 98, kMostWrong = 5.5, kLeastFound = 95;

// Where only ratios of noise matter, lines of one seed would be the same line.
std::uint64_t seed_of(double sigma) { return static_cast<std::uint64_t>(std::lround(sigma * 100)); }

double percent(int count) { return 100.0 * count / trials; }

bool covers(const std::optional<Interval>& interval, double truth) {
  return interval && interval->contains(truth);
}

// Student's interval whatever n is: what blksweep would give if it did not ask for five rounds.
Interval students(const Values& ratios) {
  const PairedRatio r = paired_ratio(ratios);
  const double half = t_quantile(0.05, static_cast<double>(r.pairs - 1)) * r.log_error;
  return {r.value * std::exp(-half), r.value * std::exp(half)};
}

struct Coverage {
  double students = 0, ranked = 0, wrong = 0;  // percent
};

Coverage coverage(const PairNoiseSettings& settings, std::size_t rounds) {
  PairNoise noise(settings);
  int t = 0, rank = 0, wrong = 0;
  for (int i = 0; i < trials; ++i) {
    const Values ratios = noise.ratios(rounds, kEffect)[0];
    t += students(ratios).contains(kEffect) ? 1 : 0;
    rank += covers(paired_ratio(ratios).ranked, kEffect) ? 1 : 0;
    const PairedRatio null = paired_ratio(noise.ratios(rounds, 1.0)[0]);
    const Finding finding = find_verdicts(std::array{null})[0].finding;
    wrong += finding == Finding::faster || finding == Finding::slower ? 1 : 0;
  }
  return {percent(t), percent(rank), percent(wrong)};
}

void coverage_table() {
  fmt::print(
      "\n| noise of a run | rounds | t covers | signed rank covers | null pair called different |\n"
      "| --- | ---: | ---: | ---: | ---: |\n");
  for (const Disturbance kind : kDisturbances) {
    for (const double sigma : kSigmas) {
      for (const std::size_t rounds : kRounds) {
        const Coverage c = coverage({.kind = kind, .sigma = sigma, .seed = seed_of(sigma)}, rounds);
        const bool given = rounds >= kLeastRounds;
        const double whole = std::round(c.students);
        const bool good =
            !given || (whole >= kLeastCover && whole <= kMostCover && c.wrong <= kMostWrong);
        fmt::print("| {}, {:.0f} % | {} | {}{:.1f}{} | {} | {}{} |\n", to_string(kind), sigma * 100,
                   rounds, given ? "" : "(", c.students, given ? "" : ")",
                   rounds >= kLeastRanked ? fmt::format("{:.1f}", c.ranked) : "-",
                   given ? fmt::format("{:.1f}", c.wrong) : "no verdict", held(good));
      }
    }
  }
}

void family_table() {
  fmt::print(
      "\n| noise of a run | rounds | any of ten null cells called different |\n"
      "| --- | ---: | ---: |\n");
  for (const Disturbance kind : kDisturbances) {
    for (const double sigma : kSigmas) {
      for (const std::size_t rounds : {5UL, 6UL, 10UL, 30UL}) {
        PairNoise noise({.kind = kind, .sigma = sigma, .cells = 11, .seed = seed_of(sigma)});
        int wrong = 0;
        for (int i = 0; i < trials; ++i) {
          std::vector<PairedRatio> family;
          for (const Values& ratios : noise.ratios(rounds, 1.0)) {
            family.push_back(paired_ratio(ratios));
          }
          wrong += std::ranges::any_of(find_verdicts(family), [](const PairedVerdict& v) {
            return v.finding != Finding::not_shown;
          });
        }
        fmt::print("| {}, {:.0f} % | {} | {:.1f}{} |\n", to_string(kind), sigma * 100, rounds,
                   percent(wrong), held(percent(wrong) <= kMostWrong));
      }
    }
  }
}

// Share of experiments in which the effect is called what it is.
double found(const PairNoiseSettings& settings, std::size_t rounds, double effect) {
  PairNoise noise(settings);
  int right = 0;
  for (int i = 0; i < trials; ++i) {
    std::vector<PairedRatio> family;
    for (const Values& ratios : noise.ratios(rounds, effect)) {
      family.push_back(paired_ratio(ratios));
    }
    right += find_verdicts(family)[0].finding == Finding::faster ? 1 : 0;
  }
  return percent(right);
}

void power_table() {
  const int all = std::exchange(trials, trials / 4);
  fmt::print(
      "\n| effect | noise of a pair | rounds | found, one comparison | one of ten |\n"
      "| ---: | ---: | ---: | ---: | ---: |\n");
  for (const double effect : {1.02, 1.05, 1.20}) {
    for (const double noise : {0.03, 0.10}) {
      for (const std::size_t rounds : {5UL, 10UL, 30UL}) {
        const double sigma = noise / std::sqrt(2.0);
        const double alone = found({.sigma = sigma}, rounds, effect);
        const double of_ten = found({.sigma = sigma, .cells = 11}, rounds, effect);
        const bool claimed = effect == 1.05 && noise == 0.03 && rounds == 10;
        fmt::print("| {:.0f} % | {:.0f} % | {} | {:.1f}{} | {:.1f} |\n", (effect - 1) * 100,
                   noise * 100, rounds, alone, held(!claimed || alone >= kLeastFound), of_ten);
      }
    }
  }
  trials = all;
}

void order_table() {
  constexpr std::array<std::pair<RoundOrder, const char*>, 3> kOrders{
      {{RoundOrder::random, "random in every round (blksweep)"},
       {RoundOrder::fixed, "the same in every round"},
       {RoundOrder::to_and_fro, "to and fro"}}};
  fmt::print(
      "\n| order of two null cells, five rounds | drift 20 %, 2 % | correlated 0.9, 2 % |\n"
      "| --- | ---: | ---: |\n");
  for (const auto& [order, words] : kOrders) {
    const auto wrong = [order = order](Disturbance kind) {
      return coverage({.kind = kind, .sigma = 0.02, .order = order}, 5).wrong;
    };
    fmt::print("| {} | {:.1f} | {:.1f} |\n", words, wrong(Disturbance::drift),
               wrong(Disturbance::correlated_much));
  }
}

// Percentile interval of the geometric mean over 1,000 resamples: what blksweep gave before.
Interval bootstrapped(const Values& ratios, Rng& rng) {
  std::vector<double> means(1000);
  for (double& m : means) {
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      m += std::log(ratios[rng.below(ratios.size())]) / static_cast<double>(ratios.size());
    }
  }
  std::ranges::sort(means);
  return {std::exp(quantile(means, 0.025)), std::exp(quantile(means, 0.975))};
}

void method_table() {
  fmt::print(
      "\n| noise of a run | rounds | t covers | signed rank covers | bootstrap covers | "
      "5 % found by t | by signed rank |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const int all = std::exchange(trials, trials / 10);
  for (const Disturbance kind : {Disturbance::none, Disturbance::outliers}) {
    for (const std::size_t rounds : {5UL, 6UL, 10UL, 30UL}) {
      PairNoise noise({.kind = kind, .sigma = 0.02});
      Rng rng(1);
      std::array<int, 5> count{};
      for (int i = 0; i < trials; ++i) {
        const Values ratios = noise.ratios(rounds, 1.05)[0];
        const PairedRatio r = paired_ratio(ratios);
        count[0] += covers(r.interval, 1.05);
        count[1] += covers(r.ranked, 1.05);
        count[2] += bootstrapped(ratios, rng).contains(1.05);
        count[3] += r.interval->low > 1;
        count[4] += r.ranked && r.ranked->low > 1;
      }
      const bool ranked = rounds >= kLeastRanked;
      fmt::print("| {}, 2 % | {} | {:.1f} | {} | {:.1f} | {:.1f} | {} |\n", to_string(kind), rounds,
                 percent(count[0]), ranked ? fmt::format("{:.1f}", percent(count[1])) : "-",
                 percent(count[2]), percent(count[3]),
                 ranked ? fmt::format("{:.1f}", percent(count[4])) : "-");
    }
  }
  trials = all;
}

void wandering_line() {
  fmt::print("\nAn effect that wanders from round to round (rho = 0.9, 2 %), t covers:");
  for (const std::size_t rounds : {5UL, 10UL, 30UL}) {
    const Coverage c = coverage({.kind = Disturbance::wandering, .sigma = 0.02}, rounds);
    fmt::print(" {:.0f} % of {} rounds{}", c.students, rounds, rounds == 30 ? ".\n" : ",");
  }
}

void tables() {
  fmt::print(
      "{} experiments a line (effects found: a quarter of them; methods: a tenth); percent.\n",
      trials);
  coverage_table();
  family_table();
  power_table();
  order_table();
  method_table();
  wandering_line();
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  return blksweep::study::run(argc, argv, 20'000, blksweep::tables);
}
