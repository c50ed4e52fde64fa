// What `trace stat` prints.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "trace/trace_file.h"
#include "trace/trace_stat.h"

namespace blksweep {

std::string stat_text(const TraceReader& trace, const TraceStat& stat);
Json stat_json(const TraceReader& trace, const TraceStat& stat);  // keys: docs/traces.md

}  // namespace blksweep
