#include "replay/ways_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "replay/certificate.h"

namespace blksweep {
namespace {

constexpr std::int64_t kShortSpin = 60'000;  // docs/performance.md
constexpr unsigned kDeep = 128;              // beyond, more depth was not seen to help
constexpr const char* kDirect = "without --buffered no call copies what the page cache has";
constexpr const char* kFreeCpu = "keep one CPU free of other work";
constexpr const char* kOnIt = "--addresses wrap or scale puts them on it";
constexpr const char* kLike = "dataset make DIR --like TRACE makes files of that length";

// In the order in which they are asked for, where several have left out much.
constexpr std::array kRemedies{std::pair(kReadsBeyondDevice, kOnIt),
                               std::pair(kWritesBeyondDevice, kOnIt),
                               std::pair(kFilesNotThere, kLike), std::pair(kReadsBeyondFile, kLike),
                               std::pair(kNotDirect, "--buffered reads them")};

// What a loop device needs the CPU for goes on while the tool sleeps.
std::string of_lateness(const WaysAsked& asked) {
  const bool spins = asked.sleeps && asked.spin_ns > kShortSpin;
  return asked.buffered                            ? kDirect
         : spins && asked.disk.starts_with("loop") ? "try --spin 60us, which leaves the CPU "
                                                     "to the disk between reads"
                                                   : kFreeCpu;
}

std::string of_stalls(const WaysAsked& asked) {
  return asked.sleeps && asked.spin_ns > kShortSpin
             ? "try --spin 60us: who spins all the time is put aside for it"
             : kFreeCpu;
}

std::string of_pace(const WaysAsked& asked) {
  return asked.buffered        ? kDirect
         : asked.depth < kDeep ? fmt::format("try --depth {}", std::min(kDeep, 4 * asked.depth))
                               : kFreeCpu;
}

std::string of_missing(const LeftOut& left_out) {
  std::uint64_t most = 0;
  std::string way;
  for (const auto& [reason, remedy] : kRemedies) {
    const auto found = left_out.find(reason);
    if (found != left_out.end() && found->second > most) {
      most = found->second;
      way = remedy;
    }
  }
  return way;
}

}  // namespace

WaysOut ways_out(const WaysAsked& asked) {
  // What is due within one step of the clock is due at once, at any speed.
  const bool spreads = asked.timed && asked.quantum_ns < kRateWindow;
  return {.late = of_lateness(asked),
          .stalled = of_stalls(asked),
          .stopped = "replay it again",
          .pace = of_pace(asked),
          .missing = of_missing(asked.left_out),
          .speed = spreads ? asked.speed : 0};
}

std::string slower(const WaysOut& ways, double peak, double own) {
  constexpr double kMargin = 0.9;
  return ways.speed <= 0 || peak <= 0
             ? ""
             : fmt::format("try --speed {:.2g}", kMargin * ways.speed * own / 2 / peak);
}

std::string with_way(std::string reason, const std::string& way) {
  return way.empty() ? std::move(reason) : std::move(reason) + ": " + way;
}

}  // namespace blksweep
