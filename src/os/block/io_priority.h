// The I/O priority of a thread: which requests a scheduler serves first.
//
// Effect:  schedulers bfq and mq-deadline look at it; none and kyber do not.
// Source:  ioprio_set(2), Documentation/block/ioprio.rst.
// Errors:  Exit::unsupported where the class is refused, with what it needs.
// Threads: the calling thread; new threads and programs inherit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep {

struct IoPriority {
  enum class Class { none, realtime, best_effort, idle } priority_class = Class::none;
  int level = 4;  // 0 (first) to 7, of realtime and best_effort
};

// "none", "rt:0" .. "rt:7", "be:0" .. "be:7", "idle".
Result<IoPriority> parse_io_priority(std::string_view text);
std::string to_string(const IoPriority& priority);
// What ioprio_get(2) reads back afterwards.
Result<IoPriority> set_io_priority(const IoPriority& priority);
// What this thread has, of whoever started it where nothing was set.
Result<IoPriority> io_priority();

// As the kernel packs it, for putting back exactly what was; negative where it cannot be read.
long raw_io_priority();
void set_raw_io_priority(long value);

// The schedulers that look at it.
bool heeds_io_priority(std::string_view scheduler);

}  // namespace blksweep
