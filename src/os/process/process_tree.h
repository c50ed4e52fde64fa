// A process with all that it started: what they used, and who of them is left.
//
// Units:   nanoseconds in the kernel's ticks (10 ms); bytes that they made block devices read. Of
//          children that ended, too, once their parent has waited for them.
// Source:  /proc/PID/stat, io, maps (proc(5)).
// Errors:  none; a process that cannot be looked at counts for nothing, and makes the sum of reads
//          unknown.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace blksweep {

struct TreeUse {
  std::int64_t cpu_ns = 0;
  std::optional<std::uint64_t> read_bytes = 0;
  std::optional<std::uint64_t> called_bytes = 0;  // of reads by system calls (os/block/own_reads.h)
};
TreeUse tree_use(std::span<const pid_t> roots);

// Files that the process has mapped: its program and libraries, mostly.
std::vector<std::string> mapped_files(pid_t pid);

struct ChildProcess {
  pid_t pid = 0;
  bool ended = false;  // a zombie: nobody has waited for it
};
std::vector<ChildProcess> children_of(pid_t pid);
std::vector<ChildProcess> own_children();

}  // namespace blksweep
