#include "replay/files_read.h"

#include <algorithm>
#include <limits>

namespace blksweep {
namespace {

// Nothing says more of a file than its reads: where it ended is where a read gave less than asked.
std::uint64_t end_of_read(const TraceRecord& r) {
  const auto bytes = r.returned == kNotTold ? r.bytes : static_cast<std::uint64_t>(r.returned);
  return r.offset + std::min(bytes, std::numeric_limits<std::uint64_t>::max() - r.offset);
}

}  // namespace

Result<std::vector<NamedSize>> files_read(TraceReader& trace, const std::atomic<bool>& stop) {
  if (trace.facts().kind != TraceKind::file) {
    return usage_error("--like needs a file trace: this one is of a block device");
  }
  std::vector<std::uint64_t> ends;
  std::vector<bool> read;
  std::vector<TraceRecord> block;
  for (;;) {
    BLKSWEEP_TRY(const bool some, trace.next(block));
    if (!some) {
      break;
    }
    if (stop.load()) {
      return fail("interrupted: nothing was written", Exit::interrupted);
    }
    ends.resize(trace.names().size());
    read.resize(trace.names().size());
    for (const TraceRecord& r : block) {
      if (r.op == TraceOp::read) {
        ends[r.place] = std::max(ends[r.place], r.returned == 0 ? 0 : end_of_read(r));
        read[r.place] = true;
      }
    }
  }
  std::vector<NamedSize> files;
  for (std::size_t place = 0; place < ends.size(); ++place) {
    if (read[place]) {
      files.push_back({trace.names()[place], ends[place]});
    }
  }
  return files;
}

}  // namespace blksweep
