// What a reader must know of a replay beside its verdict: why its figures may be those of something
// else than the trace, or than the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/replay.h"
#include "replay/survey.h"

namespace blksweep {

struct ReplayMeans {
  const TraceFacts& facts;
  const TraceSurvey& survey;
  const ReplaySettings& settings;
  std::uint64_t partition_start = 0;  // bytes; of the device that is replayed onto
};

// Steps of the trace's clock, in the replay's time: the speed makes them shorter.
std::int64_t clock_step(const TraceFacts& facts, const ReplaySettings& settings);

// A line each; empty: nothing. `report` has its counts.
std::vector<std::string> doubts_of(const ReplayReport& report, const ReplayMeans& means);

}  // namespace blksweep
