// The requests of a replay as lanes over time, for Perfetto: a lane for each place of the queue.
//
// Format:  docs/timeline.md.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/replay/replay_row.h"
#include "replay/replay.h"

namespace blksweep {

inline constexpr std::uint64_t kTimelineRequests = 100'000;  // more is no picture any more

// `names`: of the trace's places.
std::string replay_timeline(const ReplayReport& report, const ReplayRow& row,
                            const std::vector<std::string>& names);

}  // namespace blksweep
