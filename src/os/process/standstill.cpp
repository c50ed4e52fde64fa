#include "os/process/standstill.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/units.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kEvery(20);
constexpr std::int64_t kStoodStill = 250'000'000;

}  // namespace

Standstill::Standstill()
    : continued_(times_continued()),
      last_ns_(now_ns()),
      thread_([this](const std::stop_token& done) { look(done); }) {}

void Standstill::look(const std::stop_token& done) {
  while (!done.stop_requested()) {
    std::this_thread::sleep_for(kEvery);
    const std::int64_t now = now_ns();
    longest_ns_.store(std::max(longest_ns_.load(), now - last_ns_.load()));
    last_ns_.store(now);
  }
}

std::string Standstill::seen() const {
  const std::int64_t longest = std::max(longest_ns_.load(), now_ns() - last_ns_.load());
  if (times_continued() != continued_) {
    return "this process was stopped (SIGSTOP, Ctrl-Z), and its clock was not";
  }
  return longest < kStoodStill ? ""
                               : fmt::format(
                                     "this process stood still for {} (a frozen cgroup, a paused "
                                     "machine), and its clock did not",
                                     format_duration(Nanos(longest)));
}

}  // namespace blksweep
