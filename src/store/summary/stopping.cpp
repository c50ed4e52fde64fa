#include "store/summary/stopping.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "stats/paired.h"

namespace blksweep {
namespace {

std::string why(const StoppingRecord& s) {
  const std::string reason = s.reason.value_or("cut off");
  if (reason == "repeats-max") {
    return fmt::format("--repeats-max {} was reached", s.repeats_max);
  }
  if (reason == "time-limit") {
    return fmt::format("--time-limit {} was reached",
                       format_duration(Nanos{s.time_limit_ns.value_or(0)}));
  }
  if (reason == "no-pairs") {
    return "no cell has a complete run beside one of the baseline";
  }
  if (reason == "fio-clock") {
    return "of the others fio's clock, in steps of 1 ms, is too coarse: only longer epochs help";
  }
  if (reason == "gpu-lost") {
    return "the GPU was lost";
  }
  return printable(reason) + ": the same command goes on";
}

std::string state(const StoppingRecord& s) {
  const std::string asked = percent_text(s.precision);
  const std::string widest =
      s.half_width
          ? fmt::format(", the widest {} ({})", percent_text(*s.half_width), printable(s.widest))
          : "";
  if (s.reason == "precision") {
    return fmt::format("every interval is within {}{}", asked, widest);
  }
  return fmt::format("{} of {} intervals within {}{}; {}", s.reached, s.intervals, asked, widest,
                     why(s));
}

}  // namespace

std::string percent_text(double share) {
  const double percent = share * 100;
  return percent < 0.0095 && percent > 0 ? fmt::format("{:.2g} %", percent)
                                         : fmt::format("{:.{}f} %", percent,
                                                       percent >= 9.95    ? 0
                                                       : percent >= 0.995 ? 1
                                                                          : 2);
}

std::string stopping_text(const std::map<std::string, StoppingRecord>& by_disk) {
  std::string out;
  for (const auto& [disk, s] : by_disk) {
    out += fmt::format("{}after {} round{} (--repeats auto): {}\n", disk.empty() ? "" : disk + ": ",
                       s.rounds, s.rounds == 1 ? "" : "s", state(s));
  }
  if (!out.empty()) {
    out += fmt::format(
        "intervals and verdicts allow for that stop: Student's t at {:.0f} % covers 95 % then\n",
        (1 - kStoppedErrorRate) * 100);
  }
  return out;
}

}  // namespace blksweep
