#include "cli/replay/replay_timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/export/json.h"
#include "store/export/trace_events.h"

namespace blksweep {
namespace {

PlaceSpan span_of(const RequestTimes& t, bool timed, const std::vector<std::string>& names) {
  const ReplayRequest& r = t.request;
  Json args = {{"number", r.number}, {"place", names.at(r.place)},
               {"offset", r.offset}, {"bytes", r.bytes},
               {"failed", t.failed}, {"latency_ns", t.ended_ns - t.issued_ns}};
  args["thread"] = r.thread == 0 ? Json() : Json(r.thread & 0xFFFFFFFF);
  args["recorded_latency_ns"] = r.latency_ns == kNotTold ? Json() : Json(r.latency_ns);
  if (timed) {
    args["due_ns"] = r.due_ns;
    args["late_ns"] = std::max<std::int64_t>(0, t.issued_ns - r.due_ns);
  }
  args["room_ns"] = t.room_ns;
  return {t.slot, t.issued_ns, t.ended_ns,
          fmt::format("{} {}", r.write ? "write" : "read", r.number), std::move(args)};
}

}  // namespace

std::string replay_timeline(const ReplayReport& report, const ReplayRow& row,
                            const std::vector<std::string>& names) {
  std::vector<PlaceSpan> spans;
  for (const RequestTimes& t : report.timeline) {
    spans.push_back(span_of(t, row.timing != "asap", names));
  }
  return place_events(fmt::format("replay of {}: {}, {}", row.trace, row.timing, row.verdict),
                      "slot", spans,
                      {{"replay", parse_json(row.document)},
                       {"requests", spans.size()},
                       {"of_requests", report.requests}});
}

}  // namespace blksweep
