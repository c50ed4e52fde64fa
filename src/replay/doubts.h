// What a reader must know of a replay beside its verdict: why its figures may be those of something
// else than the trace, or than the disk.
#pragma once

#include <string>
#include <vector>

#include "replay/replay.h"
#include "replay/survey.h"

namespace blksweep {

// A line each; empty: nothing. `report` has its counts.
std::vector<std::string> doubts_of(const ReplayReport& report, const TraceFacts& facts,
                                   const TraceSurvey& survey, const ReplaySettings& settings);

}  // namespace blksweep
