#include "cli/model/map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "base/units.h"
#include "store/export/json.h"

namespace blksweep {
namespace {

std::string duration_text(double ns) {
  return format_duration(Nanos(static_cast<std::int64_t>(ns)));
}

std::string bytes_text(double bytes) {
  return format_bytes({static_cast<std::uint64_t>(std::max(0.0, bytes))});
}

void add_latencies(std::vector<std::string>& cells, const LatencyRow& row) {
  cells.push_back(format_count(row.reads));
  for (const std::int64_t ns : {row.p1, row.p50, row.p90, row.p99}) {
    cells.push_back(duration_text(static_cast<double>(ns)));
  }
}

Table latency_table(std::vector<std::string> titles) {
  Table table;
  for (std::string& title : titles) {
    table.column(std::move(title));
  }
  for (const char* title : {"reads", "p1", "p50", "p90", "p99"}) {
    table.column(title);
  }
  return table;
}

std::string distance_table(const MapReport& report) {
  const bool seeks = !report.facts.seeks.empty();
  Table table = latency_table({"distance"});
  if (seeks) {
    table.column("seek");
  }
  for (const LatencyRow& row : latency_rows(report.map, MapPart::distance)) {
    std::vector<std::string> cells{(row.key < 0 ? "-" : "+") +
                                   bytes_text(std::abs(static_cast<double>(row.key)))};
    add_latencies(cells, row);
    const auto seek = std::ranges::find(report.facts.seeks, row.key, &SeekEstimate::distance);
    cells.push_back(seek == report.facts.seeks.end() ? "" : duration_text(seek->ns));
    table.row(std::move(cells));
  }
  return "by distance from the end of the read before (4 KiB, depth 1)\n" + table.text();
}

std::string size_table(const MapReport& report) {
  Table table = latency_table({"size"});
  for (const LatencyRow& row : latency_rows(report.map, MapPart::size)) {
    std::vector<std::string> cells{bytes_text(static_cast<double>(row.key))};
    add_latencies(cells, row);
    table.row(std::move(cells));
  }
  return "\nby size (random places, depth 1)\n" + table.text();
}

std::string depth_table(const MapReport& report) {
  Table table = latency_table({"depth", "reads/s"});
  for (const LatencyRow& row : latency_rows(report.map, MapPart::depth)) {
    const auto rate = std::ranges::find(report.facts.depths, static_cast<std::uint32_t>(row.key),
                                        &DepthRate::depth);
    std::vector<std::string> cells{
        std::to_string(row.key),
        rate == report.facts.depths.end()
            ? "-"
            : format_count(static_cast<std::uint64_t>(std::llround(rate->per_s)))};
    add_latencies(cells, row);
    table.row(std::move(cells));
  }
  return "\nby depth (4 KiB at random places)\n" + table.text();
}

bool has(const LatencyMap& map, MapPart part) {
  return std::ranges::find(map.reads, part, &MapRead::part) != map.reads.end();
}

std::string rotation_text(const MapFacts& facts) {
  if (!facts.rotation) {
    return "none found";
  }
  const double period = facts.rotation->period_ns;
  return fmt::format("{:.4f} ms ({:.0f} rpm), coherence {:.2f}", period / 1e6, 60e9 / period,
                     facts.rotation->coherence);
}

std::string rate_text(const MapFacts& facts) {
  const auto [low, high] = std::ranges::minmax_element(facts.zones, {}, &ZoneRate::bytes_per_s);
  return fmt::format("{}/s at the beginning, {}/s at the end; {} to {}/s over {} places",
                     bytes_text(facts.zones.front().bytes_per_s),
                     bytes_text(facts.zones.back().bytes_per_s), bytes_text(low->bytes_per_s),
                     bytes_text(high->bytes_per_s), facts.zones.size());
}

std::string facts_text(const MapReport& report) {
  const MapFacts& f = report.facts;
  std::string out = "\n";
  if (f.path_ns) {
    out += fmt::format("path        {}: the same place read again at once\n",
                       duration_text(*f.path_ns));
  }
  if (has(report.map, MapPart::revisit)) {
    out += "rotation    " + rotation_text(f) + "\n";
  }
  if (!f.seeks.empty()) {
    const auto far = [](const SeekEstimate& s) {
      return std::abs(static_cast<double>(s.distance));
    };
    const SeekEstimate shortest = std::ranges::min(f.seeks, {}, far);
    const SeekEstimate longest = std::ranges::max(f.seeks, {}, far);
    out +=
        fmt::format("seek        {} over {}, {} over {}\n", duration_text(shortest.ns),
                    bytes_text(far(shortest)), duration_text(longest.ns), bytes_text(far(longest)));
  }
  if (!f.zones.empty()) {
    out += "sequential  " + rate_text(f) + "\n";
  }
  return out;
}

std::string fit_text(const MapFit& fit) {
  std::string out = fmt::format("\nfitted: {}\n", fit.spec.description);
  Table table;
  table.column("check", Table::Align::left);
  for (const char* title : {"measured", "model", "model / measured"}) {
    table.column(title);
  }
  for (const FitCheck& c : fit.checks) {
    table.row({c.what, fmt::format("{:.4g}", c.measured), fmt::format("{:.4g}", c.model),
               fmt::format("{:.3f}", c.model / c.measured)});
  }
  out += table.text();
  for (const std::string& text : fit.notes) {
    out += "note: " + text + "\n";
  }
  return out;
}

Json rows_json(const MapReport& report, MapPart part, const char* key) {
  Json rows = Json::array();
  for (const LatencyRow& row : latency_rows(report.map, part)) {
    Json j{{key, row.key},      {"reads", row.reads}, {"p1_ns", row.p1},      {"p50_ns", row.p50},
           {"p90_ns", row.p90}, {"p99_ns", row.p99},  {"max_ns", row.longest}};
    if (part == MapPart::depth) {
      const auto rate = std::ranges::find(report.facts.depths, static_cast<std::uint32_t>(row.key),
                                          &DepthRate::depth);
      j["reads_per_s"] = rate == report.facts.depths.end() ? Json(nullptr) : Json(rate->per_s);
    }
    rows.push_back(std::move(j));
  }
  return rows;
}

Json seeks_json(const MapFacts& facts) {
  Json out = Json::array();
  for (const SeekEstimate& s : facts.seeks) {
    out.push_back({{"distance_bytes", s.distance}, {"reads", s.reads}, {"ns", s.ns}});
  }
  return out;
}

Json zones_json(const MapFacts& facts) {
  Json out = Json::array();
  for (const ZoneRate& z : facts.zones) {
    out.push_back({{"offset", z.offset}, {"bytes_per_s", z.bytes_per_s}});
  }
  return out;
}

Json fit_json(const MapFit& fit) {
  Json checks = Json::array();
  for (const FitCheck& c : fit.checks) {
    checks.push_back({{"what", c.what}, {"measured", c.measured}, {"model", c.model}});
  }
  return {{"model", to_toml(fit.spec)},
          {"error", fit.error},
          {"times_off", worst_check(fit).times_off},
          {"checks", std::move(checks)},
          {"notes", fit.notes}};
}

}  // namespace

std::string map_text(const MapReport& report) {
  std::string out = fmt::format(
      "{}{}: {}, {} reads{}\n\n", report.map.device,
      report.map.device_model.empty() ? "" : " (" + report.map.device_model + ")",
      bytes_text(static_cast<double>(report.map.size)), format_count(report.map.reads.size()),
      report.map.interrupted ? ", interrupted" : "");
  if (has(report.map, MapPart::distance)) {
    out += distance_table(report);
  }
  if (has(report.map, MapPart::size)) {
    out += size_table(report);
  }
  if (has(report.map, MapPart::depth)) {
    out += depth_table(report);
  }
  out += facts_text(report);
  return report.fit ? out + fit_text(*report.fit) : out;
}

std::string map_json(const MapReport& report) {
  const MapFacts& f = report.facts;
  Json j;
  j["device"] = report.map.device;
  j["device_model"] = report.map.device_model;
  j["size_bytes"] = report.map.size;
  j["rotational"] = report.map.rotational;
  j["engine"] = report.engine;
  j["seed"] = report.map.seed;
  j["map_id"] = report.id == 0 ? Json(nullptr) : Json(report.id);
  j["interrupted"] = report.map.interrupted;
  j["reads"] = report.map.reads.size();
  j["left_out_bytes"] = or_null(report.map.left_out);
  j["left_out_by"] = report.map.left_out ? Json(report.map.left_out_by) : Json(nullptr);
  j["path_ns"] = or_null(f.path_ns);
  j["cached_bytes_per_s"] = or_null(f.cached_rate);
  j["rotation_ns"] = f.rotation ? Json(f.rotation->period_ns) : Json(nullptr);
  j["rotation_coherence"] = f.rotation ? Json(f.rotation->coherence) : Json(nullptr);
  j["distance"] = rows_json(report, MapPart::distance, "distance_bytes");
  j["size"] = rows_json(report, MapPart::size, "bytes");
  j["depth"] = rows_json(report, MapPart::depth, "depth");
  j["seek"] = seeks_json(f);
  j["zones"] = zones_json(f);
  j["fit"] = report.fit ? fit_json(*report.fit) : Json(nullptr);
  j["warnings"] = report.warnings;
  return json_text(j) + "\n";
}

}  // namespace blksweep
