// What a replay has to know of a trace before it begins: one pass over it, in bounded memory.
//
// Errors:  as the reader's; a trace without reads is one.
// Threads: one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace_file.h"

namespace blksweep {

struct TraceSurvey {
  std::vector<std::uint64_t> ends;  // by place: one past the last byte that a read names
  std::vector<std::string> names;   // of places
  std::uint64_t reads = 0;
  std::uint64_t largest = 0;  // bytes of a read
  std::int64_t last_ns = 0;   // of the last read
  bool threads = true;        // all reads tell theirs
  bool latencies = true;
  bool whole = true;  // the writer of the trace finished
};

// Leaves the reader at its first record.
Result<TraceSurvey> survey(TraceReader& trace, const std::atomic<bool>& stop);

}  // namespace blksweep
