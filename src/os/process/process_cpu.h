// CPU time that a process has had so far, all threads: one that has none more does nothing, or is
// stopped.
//
// Units:   nanoseconds; 0 where there is no such process.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace blksweep {

std::uint64_t process_cpu_ns(pid_t pid);

}  // namespace blksweep
