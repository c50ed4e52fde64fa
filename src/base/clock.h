// CLOCK_MONOTONIC as integer nanoseconds: the one clock of every result (probes use it too).
#pragma once

#include <time.h>

#include <cstdint>

namespace blksweep {

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// CLOCK_REALTIME, for people: when something was measured.
inline std::int64_t unix_ns() { return clock_ns(CLOCK_REALTIME); }

// CPU time of the calling thread / of the whole process.
inline std::int64_t cpu_ns(clockid_t clock) { return clock_ns(clock); }

// Keeps the calling thread's CPU busy for so long, as work does: not slept, and by the thread's own
// clock, so that being kept off the CPU is no work done.
inline void spin_cpu(std::int64_t ns) {
  const std::int64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (ns > 0 && cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

}  // namespace blksweep
