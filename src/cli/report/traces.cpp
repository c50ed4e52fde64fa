#include "cli/report/traces.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"

namespace blksweep {
std::string traces_text(const std::vector<StoredTrace>& traces) {
  Table table;
  table.column("trace");
  table.column("file", Table::Align::left);
  for (const char* title :
       {"requests", "reads", "duration", "requests/s", "sequential", "footprint"}) {
    table.column(title);
  }
  for (const StoredTrace& t : traces) {
    const TraceRow& r = t.row;
    table.row({std::to_string(t.id), r.trace, format_count(r.requests), format_count(r.reads),
               format_duration(Nanos(r.duration_ns)),
               r.duration_ns > 0 ? fmt::format("{:.0f}", static_cast<double>(r.requests) * 1e9 /
                                                             static_cast<double>(r.duration_ns))
                                 : "-",
               r.sequential ? fmt::format("{:.2f}", *r.sequential) : "-",
               format_bytes({r.footprint_bytes})});
  }
  return table.text();
}

Json traces_json(const std::vector<StoredTrace>& traces) {
  Json out = Json::array();
  for (const StoredTrace& t : traces) {
    Json one = parse_object(t.row.document);  // what `trace stat --json` printed
    one["trace_id"] = t.id;
    one["trace"] = t.row.trace;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace blksweep
