#include "cli/report/replays.h"

#include <fmt/format.h>

#include <cmath>

#include "base/table.h"
#include "base/units.h"

namespace blksweep {
namespace {

std::string late_text(std::int64_t ns) { return format_duration(Nanos(ns)); }

std::string rate_text(const ReplayRow& r) {
  if (r.verdict == "unfaithful" || r.length_ns <= 0) {
    return "-";
  }
  return fmt::format("{:.0f}",
                     static_cast<double>(r.requests) * 1e9 / static_cast<double>(r.length_ns));
}

bool told(const Json& cell, const char* name, bool otherwise) {
  const auto at = cell.is_object() ? cell.find(name) : cell.end();
  return at != cell.end() && at->is_boolean() ? at->get<bool>() : otherwise;
}

// "original x4, depth 128, buffered": what the figures of a row depend on beside trace and target.
std::string replay_timing(const ReplayRow& r) {
  const Json cell = parse_object(r.document).value("cell", Json());
  return r.timing + (std::abs(r.speed - 1) > 0 ? fmt::format(" x{:g}", r.speed) : "") +
         fmt::format(", depth {}", r.depth) + (told(cell, "direct", true) ? "" : ", buffered") +
         (told(cell, "awake", false) ? ", awake" : "") +
         (r.addresses == "as-is" ? "" : ", " + r.addresses);
}

std::string verdict_of(const ReplayRow& r) {
  return r.verdict + (r.interrupted ? " (interrupted)" : "") +
         (r.shared.empty() ? "" : " (shared disk)");
}

}  // namespace

std::string replays_text(const std::vector<StoredReplay>& replays) {
  Table table;
  table.column("replay");
  for (const char* title : {"trace", "onto", "timing", "verdict"}) {
    table.column(title, Table::Align::left);
  }
  for (const char* title :
       {"requests/s", "late p50", "late p99", "tool p99", "fio p99", "left out"}) {
    table.column(title);
  }
  for (const auto& [id, r] : replays) {
    table.row({std::to_string(id), r.trace, r.target, replay_timing(r), verdict_of(r), rate_text(r),
               late_text(r.late_p50_ns), late_text(r.late_p99_ns), late_text(r.tool_p99_ns),
               r.fio_p99_ns ? late_text(*r.fio_p99_ns) : "-", format_count(r.left_out)});
  }
  return table.text();
}

Json replays_json(const std::vector<StoredReplay>& replays) {
  Json out = Json::array();
  for (const auto& [id, r] : replays) {
    Json one = parse_object(r.document);
    one["replay_id"] = id;
    one["trace"] = r.trace;
    one["target"] = r.target;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace blksweep
