// Traces as CSV, written: csv.cpp has the parser of the same lines.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "trace/trace_record.h"

namespace blksweep {

inline constexpr std::string_view kCsvHeader =
    "time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,place";

// With a line end. What is not told is empty.
std::string csv_line(const TraceRecord& record, std::string_view name);

}  // namespace blksweep
