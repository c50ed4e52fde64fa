// A replay for people, and as one JSON document (docs/replay.md).
//
// Threads: pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "replay/replay.h"

namespace blksweep {

std::string replay_text(const ReplayReport& report);
// One entry of "runs".
Json replay_json(const ReplaySettings& settings, const ReplayReport& report);

}  // namespace blksweep
