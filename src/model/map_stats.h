// What a latency map says without any assumption about the device: percentiles, rates.
//
// Units:   nanoseconds, bytes, bytes per second.
// Order:   reads may come in any order; they are sorted by their beginning where that matters.
// Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/latency_map.h"

namespace blksweep {

// Percentiles are nearest-rank: values that were measured.
struct LatencyRow {
  std::int64_t key = 0;  // distance (signed), bytes or depth, as the part has it
  std::size_t reads = 0;
  std::int64_t p1 = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;
};
// One per distance, size or depth, ascending; of other parts one row of all reads.
std::vector<LatencyRow> latency_rows(const LatencyMap& map, MapPart part);

std::int64_t percentile(std::vector<std::int64_t> values, double share);  // 0 of no values

// Reads per second while the queue was full: from the completion of the first `depth` reads of a
// burst to the last submission, over all bursts of this depth.
struct DepthRate {
  std::uint32_t depth = 0;
  std::size_t reads = 0;  // that were counted
  double per_s = 0;
};
std::vector<DepthRate> depth_rates(const LatencyMap& map);

// Sequential rate by place: a stretch without its first reads; the median of what was measured in
// each sixteenth of the device.
struct ZoneRate {
  std::uint64_t offset = 0;  // middle of the stretches
  std::size_t stretches = 0;
  double bytes_per_s = 0;
};
std::vector<ZoneRate> zone_rates(const LatencyMap& map);

// What a read costs that the medium has nothing to do with: the median of a place read again at
// once. nullopt without cached reads.
std::optional<double> path_ns(const LatencyMap& map);

}  // namespace blksweep
