// What the memory that a cache probe shares with the kernel says at the end of a run. Private to
// src/probe.
//
// Threads: pure; the probe is stopped.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "probe/cache/cache_probe.h"
#include "wire/cache_probe.h"

namespace blksweep {

struct CacheMemory {
  const cache_probe_counts& counts;
  std::span<const cache_probe_word> words;
  std::span<const cache_probe_file> files;  // several names of one file have the same first word
  std::size_t most_files = 0;
  std::span<const std::string_view> attached;         // programs: what others count is not known
  bool knows_inodes = false, knows_dentries = false;  // where the kernel makes them
};

// All but series and warnings.
CacheReport cache_report(const CacheMemory& memory);

}  // namespace blksweep
