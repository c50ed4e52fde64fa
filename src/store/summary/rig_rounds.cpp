// Round by round: which stand out, what took time from them, and whether the baseline drifts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "os/block/disk_use.h"
#include "stats/outliers.h"
#include "stats/quantile.h"
#include "store/summary/rig_disk.h"
#include "store/summary/stopping.h"

namespace blksweep {
namespace {

constexpr double kLeastEffect = 0.05;  // of a round that stands out
constexpr double kSlow = 1.5;          // times as long as the same work elsewhere took
constexpr double kThrottled = 0.05;    // of the epoch
constexpr double kTaken = 0.05;  // steal, others' reads, memory pressure: share beyond the median's
constexpr double kWaited = 0.25;  // CPU pressure likewise
constexpr double kDrift = 0.1, kDriftError = 0.01;
constexpr double kUndisturbed = 0.25;  // quantile of rounds likewise
constexpr double kUnhurried = 0.2;     // quantile of spins that stands for an undisturbed one

using ByRound = std::map<std::uint32_t, CountedRuns>;

ByRound by_round(const RigDisk& disk) {
  ByRound rounds;
  for (const RigCell& c : disk.cells) {
    for (const StoredRun* r : c.runs) {
      rounds[r->run.repeat].push_back(r);
    }
  }
  return rounds;
}

// Logarithm of speed over its cell's median, median over the cells: of each round.
std::map<std::uint32_t, double> effects(const RigDisk& disk) {
  std::map<std::uint32_t, std::vector<double>> all;
  for (const RigCell& c : disk.cells) {
    std::vector<double> speeds;
    std::ranges::transform(c.runs, std::back_inserter(speeds),
                           [](auto* r) { return speed_of(*r); });
    const bool counts = c.control.empty() || c.control == "a/a" || c.control == "reverse";
    const double usual = speeds.empty() ? 0 : median(speeds);
    for (std::size_t i = 0; counts && usual > 0 && i < speeds.size(); ++i) {
      if (speeds[i] > 0) {
        all[c.runs[i]->run.repeat].push_back(std::log(speeds[i] / usual));
      }
    }
  }
  std::map<std::uint32_t, double> of_round;
  for (const auto& [round, values] : all) {
    of_round[round] = median(values);
  }
  return of_round;
}

struct RoundNoise {     // medians over the runs of a round
  double slow = 1;      // fixed work: times as long as undisturbed
  double slow_cpu = 1;  // its CPU time likewise: a lower clock
  double throttled = 0, steal = 0, waited = 0, memory = 0,
         others = 0;  // shares of the epoch, of bytes
  bool hot = false;
};

double share_of(const Maybe<std::int64_t>& ns, const RunRecord& r) {
  return ns && r.epoch_ns > 0 ? static_cast<double>(*ns) / static_cast<double>(r.epoch_ns) : 0;
}

// Of both spins the shorter: what held the one alone was no more than a moment.
Maybe<double> spin_wall(const RunRecord& r) {
  return r.noise && r.noise->spin_before_wall_ns && r.noise->spin_after_wall_ns
             ? Maybe<double>(static_cast<double>(
                   std::min(*r.noise->spin_before_wall_ns, *r.noise->spin_after_wall_ns)))
             : std::nullopt;
}
Maybe<double> spin_cpu_of(const RunRecord& r) {
  return r.noise && r.noise->spin_before_cpu_ns && r.noise->spin_after_cpu_ns
             ? Maybe<double>(static_cast<double>(
                   std::min(*r.noise->spin_before_cpu_ns, *r.noise->spin_after_cpu_ns)))
             : std::nullopt;
}

double unhurried(const ByRound& rounds) {
  std::vector<double> spins;
  for (const auto& [round, runs] : rounds) {
    const std::vector<double> some = values_of_runs(runs, spin_cpu_of);
    spins.insert(spins.end(), some.begin(), some.end());
  }
  std::ranges::sort(spins);
  return spins.empty() ? 0 : quantile(spins, kUnhurried);
}

template <class Get>
double median_of_runs(const CountedRuns& runs, double otherwise, Get get) {
  const std::vector<double> values = values_of_runs(runs, get);
  return values.empty() ? otherwise : median(values);
}

RoundNoise noise_of(const CountedRuns& runs, double spin) {
  RoundNoise n;
  const auto share = [&](Maybe<std::int64_t> NoiseRecord::*field) {
    return median_of_runs(runs, 0, [&](const RunRecord& r) {
      return r.noise ? Maybe<double>(share_of((*r.noise).*field, r)) : std::nullopt;
    });
  };
  if (spin > 0) {
    n.slow = median_of_runs(runs, spin, spin_wall) / spin;
    n.slow_cpu = median_of_runs(runs, spin, spin_cpu_of) / spin;
  }
  n.throttled = share(&NoiseRecord::throttled_ns);
  n.steal = share(&NoiseRecord::steal_ns);
  n.waited = share(&NoiseRecord::cpu_pressure_ns);
  n.memory = share(&NoiseRecord::memory_pressure_ns);
  n.others = median_of_runs(runs, 0, share_of_others);
  n.hot = std::ranges::any_of(runs, [](auto* r) {
    return r->run.noise && r->run.noise->thermal_throttles.value_or(0) > 0;
  });
  return n;
}

using Noises = std::map<std::uint32_t, RoundNoise>;

double usual(const Noises& noises, double RoundNoise::*field) {
  std::vector<double> values;
  std::ranges::transform(noises, std::back_inserter(values),
                         [&](const auto& n) { return n.second.*field; });
  return median(values);
}

std::string cause_of(const Noises& noises, std::uint32_t round) {
  const RoundNoise& n = noises.at(round);
  const auto beyond = [&](double RoundNoise::*field) { return n.*field - usual(noises, field); };
  std::vector<std::string> causes;
  if (n.slow >= kSlow) {
    causes.push_back(fmt::format("the CPU gave {:.0f} % of its speed", 100 / n.slow));
  }
  if (n.throttled >= kThrottled) {
    causes.push_back(fmt::format("our CPU quota held us {:.0f} % of the time", n.throttled * 100));
  }
  if (beyond(&RoundNoise::steal) >= kTaken) {
    causes.push_back(fmt::format("the hypervisor took {:.0f} % of a CPU", n.steal * 100));
  }
  if (beyond(&RoundNoise::others) >= kTaken) {
    causes.push_back(fmt::format("others read the disk, {:.0f} % of our bytes", n.others * 100));
  }
  if (beyond(&RoundNoise::memory) >= kTaken) {
    causes.push_back(fmt::format("memory was short {:.0f} % of the time", n.memory * 100));
  }
  if (beyond(&RoundNoise::waited) >= kWaited) {
    causes.push_back(fmt::format("tasks waited for a CPU {:.0f} % of the time", n.waited * 100));
  }
  if (n.hot) {
    causes.emplace_back("a CPU was too hot");
  }
  return causes.empty() ? "cause not seen" : fmt::format("likely: {}", joined(causes, "; "));
}

std::string names_of_rounds(const std::vector<std::uint32_t>& rounds) {
  std::vector<std::uint32_t> named(rounds);
  std::ranges::for_each(named, [](std::uint32_t& r) { ++r; });
  return fmt::format("round{} {}", named.size() == 1 ? "" : "s", joined(named, ", "));
}

// How a round compares with the undisturbed ones of its session: slow all the time is another
// thing.
double usual_slowness(const Noises& noises) {
  std::vector<double> all;
  std::ranges::transform(noises, std::back_inserter(all), [](auto& n) { return n.second.slow; });
  std::ranges::sort(all);
  return quantile(all, kUndisturbed);
}

std::string why_slow(double held, double clock) {
  if (held >= kThrottled) {
    return fmt::format("its CPU quota held this process {:.0f} % of the time", held * 100);
  }
  return clock >= kSlow ? "it was clocked down"
                        : "others ran on it: the same work took the same CPU time";
}

void remark_slow(const Noises& noises, std::vector<RigRemark>& out) {
  const double usual = usual_slowness(noises);
  std::vector<std::uint32_t> slow;
  std::vector<double> times, clock, held;
  for (const auto& [round, n] : noises) {
    if (n.slow >= kSlow * usual || n.throttled >= kThrottled) {
      slow.push_back(round);
      times.push_back(n.slow / usual);
      clock.push_back(n.slow_cpu);
      held.push_back(n.throttled);
    }
  }
  if (!slow.empty()) {
    out.push_back(
        {RigWeight::noise, "cpu",
         fmt::format("the CPU was slow in {} of {}: {:.0f} % of its speed in the others, by "
                     "fixed work (median); {}",
                     names_of_rounds(slow), noises.size(), 100 / median(times),
                     why_slow(median(held), median(clock)))});
  } else if (usual >= kSlow) {
    out.push_back({RigWeight::limit, "cpu",
                   fmt::format("the CPU was shared in all rounds: fixed work took {:.1f} times its "
                               "CPU time",
                               usual)});
  }
}

void remark_odd(const RigDisk& disk, const Noises& noises, std::vector<RigRemark>& out) {
  std::vector<std::uint32_t> rounds;
  std::vector<double> values;
  for (const auto& [round, effect] : effects(disk)) {
    rounds.push_back(round);
    values.push_back(effect);
  }
  for (const std::size_t i : outliers(values, kLeastEffect)) {
    const double away = values[i] - median(values);
    out.push_back({RigWeight::noise, "rounds",
                   fmt::format("round {} stands out, {} {} over all cells; {}; it is not left out",
                               rounds[i] + 1, percent_text(std::expm1(std::abs(away))),
                               away < 0 ? "slower" : "faster", cause_of(noises, rounds[i]))});
  }
}

void remark_drift(const RigDisk& disk, std::vector<RigRemark>& out) {
  std::vector<double> logs;
  for (const StoredRun* r : disk.base().runs) {
    if (speed_of(*r) > 0) {
      logs.push_back(std::log(speed_of(*r)));
    }
  }
  const auto drift = drift_of(logs);
  if (drift && drift->p < kDriftError && std::abs(drift->total) > std::log1p(kDrift)) {
    out.push_back(
        {RigWeight::noise, "drift",
         fmt::format("the baseline drifts: {} {} from the first round to the last (t test, "
                     "p = {:.2g}); pairs of a round are not touched by it",
                     percent_text(std::expm1(std::abs(drift->total))),
                     drift->total < 0 ? "slower" : "faster", drift->p)});
  }
}

}  // namespace

void watch_rounds(const RigDisk& disk, std::vector<RigRemark>& out) {
  const ByRound rounds = by_round(disk);
  const double spin = unhurried(rounds);
  Noises noises;
  for (const auto& [round, runs] : rounds) {
    noises[round] = noise_of(runs, spin);
  }
  if (noises.empty()) {
    return;
  }
  remark_slow(noises, out);
  remark_odd(disk, noises, out);
  remark_drift(disk, out);
}

}  // namespace blksweep
