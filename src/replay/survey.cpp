#include "replay/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace blksweep {
namespace {

std::uint64_t end_of(const TraceRecord& r) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - r.offset;
  return r.offset + std::min(r.bytes, room);
}

void add(TraceSurvey& s, const TraceRecord& r) {
  if (r.place >= s.ends.size()) {
    s.ends.resize(std::size_t{r.place} + 1);
  }
  s.ends[r.place] = std::max(s.ends[r.place], end_of(r));
  ++s.requests;
  s.largest = std::max(s.largest, r.bytes);
  s.last_ns = r.time_ns;
  s.threads = s.threads && r.thread != 0;
  s.latencies = s.latencies && r.latency_ns != kNotTold;
}

}  // namespace

Result<TraceSurvey> survey(TraceReader& trace, bool writes, const std::atomic<bool>& stop) {
  TraceSurvey s;
  std::vector<TraceRecord> block;
  for (;;) {
    BLKSWEEP_TRY(const bool some, trace.next(block));
    if (!some) {
      break;
    }
    if (stop.load(std::memory_order_relaxed)) {
      return fail("interrupted", Exit::interrupted);
    }
    for (const TraceRecord& r : block) {
      if (is_replayed(r.op, writes)) {
        add(s, r);
      }
    }
  }
  if (s.requests == 0) {
    return fail(fmt::format("the trace has no {}: there is nothing to replay",
                            writes ? "read and no write" : "read"));
  }
  s.whole = trace.whole();
  s.names = trace.names();
  s.ends.resize(s.names.size());
  trace.rewind();
  return s;
}

}  // namespace blksweep
