// Ceiling: the best the device gives to this process for this data, to hold results against.
//
// Three figures: sequential (the data's own extents in address order, reads of at most 1 MiB that
// end with their extent) at depth 32 and at depth 4, because a disk whose reads end in memory that
// is warm for a few, and not for many, is faster at 4; and random (4 KiB blocks of the same
// extents, each once, depth 128). Each takes a second at most, and no byte is read twice in one: a
// set that is read earlier than that ends it. O_DIRECT on the block device itself, opened
// read-only.
//
// Place:     of a set that a second may not be enough for, a round begins at a place of its own,
//            drawn from seed and round; the places of successive rounds are spread evenly.
// Limits:    a loop device without direct I/O or a virtual disk may answer from a cache below;
//            `cached_files` are evicted before each figure, as `--cache cold` does before a run.
//            Of a drive's own cache 256 reads at random, untimed, take the place before each
//            sequential figure: enough for segments of read-ahead, not for all of a large one.
// Shared:    a figure during which others used the disk, or this process stood still, is measured
//            again, three times at most.
// Errors:    none: what cannot be measured is left out with a warning (no rights, no device, no
//            extent with an address, a cached file that cannot be opened). After an interrupt:
//            without one.
// Threads:   any one thread; nothing else should use the device meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/engine.h"
#include "plan/data_map.h"
#include "store/records.h"

namespace blksweep {

struct CeilingSettings {
  std::string device_node;
  std::string disk = {};  // whose statistics tell of others; empty: nobody is looked for
  Nanos longest = std::chrono::seconds(1);  // per figure
  EngineKind engine = EngineKind::io_uring;
  std::uint64_t seed = 1;
  std::uint32_t round = 0;
  std::vector<std::string> cached_files;  // their pages are a cache below the device
  const std::atomic<bool>* interrupt = nullptr;
};

struct Ceiling {
  std::vector<CeilingRecord> records;  // in that order; what could not be measured is missing
  std::vector<std::string> warnings;
};

Ceiling measure_ceiling(const DataMap& data, const CeilingSettings& settings);

// The reads of the figures, in the order in which they are made.
inline constexpr std::uint32_t kSequentialCeilingRead = 1U << 20;
std::vector<ByteRange> sequential_reads(const DataMap& data, std::uint64_t seed,
                                        std::uint32_t round);
std::vector<ByteRange> random_reads(const DataMap& data, std::uint64_t seed, std::uint32_t round);

// `count` distinct block numbers below `blocks`, spread evenly and in random order; fewer when
// there are fewer blocks.
std::vector<std::uint64_t> distinct_blocks(std::uint64_t blocks, std::uint64_t count,
                                           std::uint64_t seed);

}  // namespace blksweep
