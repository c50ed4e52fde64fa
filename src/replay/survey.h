// What a replay has to know of a trace before it begins: one pass over it, in bounded memory.
//
// Errors:  as the reader's; a trace without such requests is one.
// Threads: one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace_file.h"

namespace blksweep {

constexpr bool is_replayed(TraceOp op, bool writes) {
  return op == TraceOp::read || (writes && op == TraceOp::write);
}

struct TraceSurvey {
  std::vector<std::uint64_t> ends;  // by place: one past the last byte that a request names
  std::vector<std::string> names;   // of places
  std::uint64_t requests = 0;
  std::uint64_t largest = 0;  // bytes of a request
  std::int64_t last_ns = 0;   // of the last request
  bool threads = true;        // all tell theirs
  bool latencies = true;
  bool whole = true;  // the writer of the trace finished
};

// Of the reads, and the writes if `writes`. Leaves the reader at its first record.
Result<TraceSurvey> survey(TraceReader& trace, bool writes, const std::atomic<bool>& stop);

}  // namespace blksweep
