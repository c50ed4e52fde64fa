// Whether the times that the kernel's programs tell are of this process's CLOCK_MONOTONIC.
//
// Errors:  unsupported in a time namespace that moved it, as a container has that was restored
//          elsewhere: the programs have the machine's.
// Threads: any.
// Source:  time_namespaces(7).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/file/file.h"

namespace blksweep {

inline Result<> check_kernel_clock(std::string_view who) {
  // "monotonic SECONDS NANOSECONDS", and the same of boottime.
  std::istringstream first(first_line("/proc/self/timens_offsets"));
  std::string clock;
  std::int64_t seconds = 0, ns = 0;
  const bool own =
      first >> clock >> seconds >> ns && clock == "monotonic" && (seconds != 0 || ns != 0);
  return !own
             ? Result<>()
             : unsupported(fmt::format("{}: this time namespace has a CLOCK_MONOTONIC of its own, "
                                       "which the kernel's programs do not know: run outside of it",
                                       who));
}

}  // namespace blksweep
