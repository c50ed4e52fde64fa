// simulate_queue: a closed loop of requests against a model without any I/O: `depth` in flight, the
// next one as soon as one is done. What a benchmark at a fixed depth would see.
//
// Units:   virtual nanoseconds.
// Threads: pure.
#pragma once

#include <cstdint>
#include <span>

#include "model/disk_model.h"
#include "stats/histogram.h"

namespace blksweep {

struct QueueResult {
  std::int64_t wall_ns = 0;
  std::uint64_t bytes = 0;
  LogHistogram latency;
};

// `host_ns`: time between a completion and the submission that follows it (software above).
QueueResult simulate_queue(DiskModel& model, std::span<const DiskRequest> requests,
                           std::uint32_t depth, std::int64_t host_ns = 0);

}  // namespace blksweep
