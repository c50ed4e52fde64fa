// A run as a Trace Event document (JSON object format), which ui.perfetto.dev and chrome://tracing
// open.
//
// Format:  docs/timeline.md. Timestamps are microseconds since the epoch's begin with three
//          decimals, that is every nanosecond as it was measured.
// Output:  ASCII but for labels; bytes that are not UTF-8 are replaced.
// Threads: pure function.
// Source:  "Trace Event Format" (Google, 2016); how Perfetto reads it: its trace processor's JSON
//          importer and FAQ ("overlapping events").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/export/batch_lanes.h"
#include "store/records.h"

namespace blksweep {

// A curve beside the lanes, such as the utilisation of a GPU.
struct TraceCounter {
  std::string name, unit;
  Steps
      steps;  // by time since the epoch's begin, ascending; before 0 and after the epoch: left out
};

struct TraceRun {
  std::int64_t run_id = 0;
  std::string label;  // what people call it: "lba + device, repeat 0"
  CellRecord cell;
  HostRecord host;
  RunRecord run;                       // with batches; of a probe with its series and issues
  std::vector<TraceCounter> counters;  // further ones
};

std::string trace_events(const TraceRun& trace);
// A timeline takes the place of nothing but a timeline.
Result<> check_timeline_place(const std::string& path);

// What happens in places that take one thing at a time (the slots of a queue): a lane for each
// place.
struct PlaceSpan {
  std::uint32_t place = 0;  // from 0
  std::int64_t begin_ns = 0, end_ns = 0;
  std::string name;
  Json args;
};

std::string place_events(const std::string& title, const std::string& place,
                         const std::vector<PlaceSpan>& spans, const Json& about);

// The counters of every run: queue depth (with a probe) and window fill.
std::vector<TraceCounter> own_counters(const RunRecord& run);

}  // namespace blksweep
