// What this process can still have of memory, page cache included.
//
// Source:  MemAvailable of /proc/meminfo; memory.max (cgroup v2) or memory.limit_in_bytes (v1) of
//          this process's group and of those above it.
// Errors:  nullopt when the kernel does not say, or there is no limit.
// Threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace blksweep {

struct MemoryRoom {
  std::optional<Bytes> available, cgroup_limit;
  // The cgroup allows less than the node has.
  bool of_cgroup() const { return cgroup_limit && (!available || *cgroup_limit < *available); }
  std::optional<Bytes> least() const { return of_cgroup() ? cgroup_limit : available; }
};
MemoryRoom memory_room();

// A line of /proc/meminfo ("MemAvailable"), in bytes.
std::optional<Bytes> meminfo(std::string_view key);
// The same of a text.
std::optional<Bytes> meminfo(std::string_view text, std::string_view key);

}  // namespace blksweep
