// What `trace stat` prints.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "trace/trace_file.h"
#include "trace/trace_stat.h"

namespace blksweep {

std::string stat_text(const TraceReader& trace, const TraceStat& stat);
std::string stat_json(const TraceReader& trace, const TraceStat& stat);  // keys: docs/traces.md

}  // namespace blksweep
