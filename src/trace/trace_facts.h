// TraceFacts as JSON: in trace files, in `trace stat --json`, in the database.
//
// Errors:  parse accepts arbitrary text; a document without kind and format is an Error.
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "trace/trace_record.h"

namespace blksweep {

Json json_of(const TraceFacts& facts);
Result<TraceFacts> parse_trace_facts(std::string_view text);

// What makes a trace less than what it should be ("12 accesses lost"), in words; empty: nothing.
std::vector<std::string> defects_of(const TraceFacts& facts);

}  // namespace blksweep
