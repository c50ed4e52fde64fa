// CLOCK_MONOTONIC as integer nanoseconds: the one clock of every result (probes use it too).
#pragma once

#include <time.h>

#include <cstdint>

namespace blksweep {

inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// CPU time of the calling thread / of the whole process.
inline std::int64_t cpu_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace blksweep
