#include "cli/report/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/table.h"
#include "base/units.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

std::string time_text(const Maybe<std::int64_t>& ns) {
  return ns ? format_duration(Nanos(*ns)) : "-";
}

std::string skew_text(const RanksRow& r) {
  return r.first_done_ns && r.last_done_ns
             ? format_duration(Nanos(*r.last_done_ns - *r.first_done_ns))
             : "-";
}

// Pages that hold the data, for each of its bytes: of small samples disks read many times as much.
double pages_per_byte(const RanksRow& r) {
  const Json document = parse_json(r.document);
  const auto number = [&document](const char* name) {
    return document.is_object() ? document.value(name, 0.0) : 0.0;
  };
  const double pages = number("page_bytes"), bytes = number("data_bytes");
  return pages > 0 && bytes > 0 ? pages / bytes : 1;
}

// What caches had of the pages of what came; unknown: the kernel does not tell.
std::optional<double> cached_share(const RanksRow& r) {
  if (!r.storage_bytes || r.bytes == 0) {
    return std::nullopt;
  }
  const double pages = static_cast<double>(r.bytes) * pages_per_byte(r);
  return std::max(0.0, 1 - static_cast<double>(*r.storage_bytes) / pages);
}

// Ranks that caches feed are no better for it.
bool fed_alike(const RanksRow& a, const RanksRow& b) {
  constexpr double kAlike = 0.1;
  const auto one = cached_share(a), other = cached_share(b);
  return one && other ? std::abs(*one - *other) <= kAlike : !one && !other;
}

// The same settings, data, program and machine, as far as rank 0 tells.
bool comparable(const RanksRow& a, const RanksRow& b) {
  return a.key == b.key && a.hostname == b.hostname && a.kernel == b.kernel &&
         a.git_revision == b.git_revision && fed_alike(a, b);
}

// Samples per second of one rank, as the rows have it.
std::optional<double> rate_of_one(const std::vector<StoredRanks>& all, const RanksRow& of) {
  std::vector<double> rates;
  for (const StoredRanks& r : all) {
    if (r.row.complete && r.row.ranks == 1 && comparable(r.row, of)) {
      rates.push_back(r.row.samples_per_s);
    }
  }
  return rates.empty() ? std::nullopt : std::optional(median(rates));
}

std::optional<double> efficiency(const std::vector<StoredRanks>& all, const RanksRow& r) {
  const std::optional<double> one = rate_of_one(all, r);
  const bool known = one && *one > 0 && r.complete && r.split != "copy";
  return known ? std::optional(r.samples_per_s / (*one * r.ranks)) : std::nullopt;
}

// "reservoir, per rank"
std::string shuffle_text(const RanksRow& r) {
  return r.shuffle + (r.window_scope == "rank" ? ", per rank" : "");
}

std::string state_of(const RanksRow& r) {
  return r.complete ? "complete" : r.fault.empty() ? "incomplete" : "incomplete: " + r.fault;
}

}  // namespace

std::string ranks_text(const std::vector<StoredRanks>& all) {
  Table table;
  table.column("ranks");
  for (const char* title : {"nodes", "split", "barrier", "order", "merge", "shuffle"}) {
    table.column(title, Table::Align::left);
  }
  for (const char* title : {"samples/s", "throughput", "batch", "skew", "cached", "efficiency"}) {
    table.column(title);
  }
  table.column("state", Table::Align::left);
  for (const StoredRanks& one : all) {
    const RanksRow& r = one.row;
    const auto of_one = efficiency(all, r);
    const auto cached = cached_share(r);
    table.row({std::to_string(r.ranks), std::to_string(r.nodes), r.split, r.barrier, r.order,
               r.merge, shuffle_text(r), fmt::format("{:.0f}", r.samples_per_s),
               format_bytes({static_cast<std::uint64_t>(r.bytes_per_s)}) + "/s",
               time_text(r.batch_ns), skew_text(r),
               cached ? fmt::format("{:.0f} %", 100 * *cached) : "-",
               of_one ? fmt::format("{:.2f}", *of_one) : "-", state_of(r)});
  }
  return table.text();
}

Json ranks_json(const std::vector<StoredRanks>& all) {
  Json out = Json::array();
  for (const StoredRanks& r : all) {
    Json one = parse_json(r.row.document);
    if (!one.is_object()) {
      one = Json::object();
    }
    one["ranks_id"] = r.id;
    const auto of_one = efficiency(all, r.row);
    one["efficiency"] = of_one ? Json(*of_one) : Json(nullptr);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace blksweep
