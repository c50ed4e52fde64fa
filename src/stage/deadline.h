// Sleeping to a deadline, which keeps the CPU free as a real accelerator does.
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>

#include "base/result.h"

namespace blksweep {

// Until CLOCK_MONOTONIC reaches `deadline_ns`; at once when it has. Takes the default 50 us of
// timer slack from the calling thread, for good. A stop ends it at once: Exit::interrupted.
Result<> sleep_until(std::int64_t deadline_ns, const std::stop_token& stop = {});

// `by_ns` (not negative) after `at_ns`; the end of time where a clock has no word for that.
constexpr std::int64_t later(std::int64_t at_ns, std::int64_t by_ns) {
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
  return at_ns > kLatest - by_ns ? kLatest : at_ns + by_ns;
}

}  // namespace blksweep
