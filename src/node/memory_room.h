// What the page cache of this process can grow to.
//
// Source:  MemAvailable of /proc/meminfo; memory.max (cgroup v2) or memory.limit_in_bytes (v1) of
//          this process's group and of those above it.
// Errors:  nullopt when the kernel says neither.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace blksweep {

struct MemoryRoom {
  Bytes room{0};
  bool of_cgroup = false;  // the cgroup allows less than the node has
};
std::optional<MemoryRoom> memory_room();

// One line of /proc/meminfo, in bytes.
std::optional<Bytes> meminfo(std::string_view text, std::string_view key);

}  // namespace blksweep
