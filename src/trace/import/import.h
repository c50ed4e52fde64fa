// Brings a foreign trace into a trace file: reads, sorts by time, matches completions, writes.
//
// Memory:    bounded (trace_sort.h), and the names. Files: the sort's, unnamed, in the folder of
//            `output`; `output` appears whole or not at all.
// Errors:    "file:line: what", at the first bad line beyond `skip_bad`; nothing is written then.
//            Content that fits no format, or several, is a usage error that names them.
// Threads:   one owner; `stop` ends it with Exit::interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/import/format.h"
#include "trace/trace_record.h"

namespace blksweep {

struct ImportSettings {
  std::vector<std::string> inputs;  // parts of one trace: a file a CPU, an hour, a rank
  std::string output;
  std::string format;  // empty: by content
  FormatOptions options;
  std::uint64_t skip_bad = 0;
  bool spread = false;  // accesses of one step of a coarse clock are spread over it, and marked
};

struct ImportReport {
  TraceFacts facts;
  std::uint64_t records = 0, places = 0, members = 0;
};

Result<ImportReport> import_trace(const ImportSettings& settings, const std::atomic<bool>& stop);

// By content: the one format whose parser takes the first lines, or whose magic is there.
Result<const TraceFormat*> recognise_format(TraceInput& input, const ImportSettings& settings);

}  // namespace blksweep
