// What happened to the batches of a run, lane by lane: the intervals that a timeline draws.
//
// Lanes:    read, window (complete, waiting), decode, decoded (waiting), copy, staged (copied,
//           waiting), compute, in this order; a lane that no batch has is left out. Intervals of
//           stages are those of the account (stats/account.h).
// Time:     integer nanoseconds since `begin_ns` of the run.
// Rows:     batches overlap within a lane (reads most of all). Spans of one row never do, and no
//           two begin together; a lane has as few rows as its busiest moment needs.
// Threads:  pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/records.h"

namespace blksweep {

struct LaneSpan {
  std::uint32_t batch = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t row = 0;  // 0: the first
};

struct Lane {
  std::string name;
  std::vector<LaneSpan> spans;  // by begin
  std::uint32_t rows = 0;
};

// Of a run with its batches.
std::vector<Lane> batch_lanes(const RunRecord& run);

// Gives each span the first row that is free when it begins (optimal for intervals); returns how
// many rows there are. REQUIRES: spans are sorted by begin and do not end before they begin.
std::uint32_t assign_rows(std::vector<LaneSpan>& spans);

// A value that holds from its time until the next.
using Steps = std::vector<std::pair<std::int64_t, std::uint64_t>>;

// Bytes of batches that are complete and not consumed, from 0 on; one step per change.
Steps window_fill(const RunRecord& run);

}  // namespace blksweep
