// Traces as CSV, written: csv.cpp has the parser of the same lines.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "trace/trace_record.h"

namespace blksweep {

// The last column says what the trace is of: "volume" or "path".
std::string csv_header(TraceKind kind);

// With a line end. What is not told is empty.
std::string csv_line(const TraceRecord& record, std::string_view name);

}  // namespace blksweep
