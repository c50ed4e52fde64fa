#include "os/process/standstill.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "base/units.h"
#include "os/file/file.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kEvery(20);
constexpr std::int64_t kStoodStill = 250'000'000;
constexpr std::int64_t kShortGap = 100'000'000;
constexpr double kShortGapShare = 0.05;
constexpr unsigned kShortGapsLeast = 3;  // a machine that is shared has one now and then

// Of the calling thread since it began: runnable, and without a CPU. Unknown where the kernel does
// not count it.
std::optional<std::int64_t> waited_for_cpu_ns() {
  std::istringstream stat(whole_text("/proc/thread-self/schedstat"));
  std::int64_t ran = 0, waited = 0;
  return stat >> ran >> waited ? std::optional(waited) : std::nullopt;
}

std::string held_text(std::int64_t ns) {
  return fmt::format(
      "this process stood still for {} (a frozen cgroup, a paused machine), and its clock did not",
      format_duration(Nanos(ns)));
}

}  // namespace

Standstill::Standstill()
    : continued_(times_continued()),
      last_ns_(now_ns()),
      began_ns_(now_ns()),
      thread_([this](const std::stop_token& done) { look(done); }) {}

// What it waited for is asked after a gap only, and is that since the gap before: on a busy machine
// rather too much.
void Standstill::look(const std::stop_token& done) {
  std::int64_t before = 0;
  while (!done.stop_requested()) {
    std::this_thread::sleep_for(kEvery);
    const std::int64_t now = now_ns(), gap = now - last_ns_.load();
    if (gap >= kShortGap) {
      const std::int64_t waited = waited_for_cpu_ns().value_or(before + gap);
      const bool held = waited - before < gap / 2;
      held_ns_ += held ? gap : 0;
      gaps_held_ += held ? 1U : 0U;
      before = waited;
    }
    longest_ns_.store(std::max(longest_ns_.load(), gap));
    last_ns_.store(now);
  }
}

std::string Standstill::seen() const {
  const std::int64_t longest = std::max(longest_ns_.load(), now_ns() - last_ns_.load());
  if (times_continued() != continued_) {
    return "this process was stopped (SIGSTOP, Ctrl-Z), and its clock was not";
  }
  const std::int64_t held = held_ns_.load();
  const bool often =
      gaps_held_ >= kShortGapsLeast &&
      static_cast<double>(held) > kShortGapShare * static_cast<double>(now_ns() - began_ns_);
  return longest >= kStoodStill ? held_text(std::max(longest, held)) : often ? held_text(held) : "";
}

}  // namespace blksweep
