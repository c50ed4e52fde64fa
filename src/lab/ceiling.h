// Ceiling: the best the device gives to this process in this session, to hold results against.
//
// Two figures: sequential (1 MiB reads at depth 32) and random (4 KiB reads of distinct blocks at
// depth 128), about a second each, O_DIRECT on the block device itself, opened read-only.
//
// Limits:    a loop device or a virtual disk may answer from a cache of its backing store; then the
//            ceiling is that cache's. docs/fio-twin.md says how to read it.
// Errors:    none: what cannot be measured is left out with a warning (no rights, no device).
// Threads:   any one thread; nothing else should use the device meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/engine.h"
#include "store/records.h"

namespace blksweep {

struct CeilingSettings {
  std::string device_node;
  Bytes begin{0}, end{0};                    // region of the device; end 0: to its end
  Nanos duration = std::chrono::seconds(1);  // per figure
  EngineKind engine = EngineKind::io_uring;
  std::uint64_t seed = 1;
  const std::atomic<bool>* interrupt = nullptr;
};

struct Ceiling {
  std::vector<CeilingRecord> records;  // sequential, random; what could not be measured is missing
  std::vector<std::string> warnings;
};

Ceiling measure_ceiling(const CeilingSettings& settings);

// `count` distinct block numbers below `blocks`, spread evenly and in random order; fewer when
// there are fewer blocks.
std::vector<std::uint64_t> distinct_blocks(std::uint64_t blocks, std::uint64_t count,
                                           std::uint64_t seed);

}  // namespace blksweep
