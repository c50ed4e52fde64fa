// What an emulated disk counts, and its JSON (docs/emulated-disk.md explains the keys).
//
// Units:   latency in virtual nanoseconds of the model, lateness in real ones.
// Threads: values.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "stats/histogram.h"

namespace blksweep {

struct PacerStats {
  std::uint64_t reads = 0, writes = 0, read_bytes = 0, written_bytes = 0;
  std::uint64_t depth_max = 0;  // requests inside the model at once
  std::int64_t latency_sum_ns = 0, lateness_sum_ns = 0;
  LogHistogram latency_ns, lateness_ns;  // of replies that a model timed
};

// mean, p50, p90, p99, max bucket; nulls when it is empty.
Json histogram_json(const LogHistogram& h, std::int64_t sum);
Json pacer_json(const PacerStats& stats);

}  // namespace blksweep
