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
double pages_per_byte(const Json& document) {
  const auto number = [&document](const char* name) {
    const Json told = document.value(name, Json());
    return told.is_number() ? told.get<double>() : 0.0;
  };
  const double pages = number("page_bytes"), bytes = number("data_bytes");
  return pages > 0 && bytes > 0 ? pages / bytes : 1;
}

std::optional<double> cached_share(const RanksRow& r, const Json& document) {
  if (!r.storage_bytes || r.bytes == 0) {
    return std::nullopt;
  }
  const double pages = static_cast<double>(r.bytes) * pages_per_byte(document);
  return std::max(0.0, 1 - static_cast<double>(*r.storage_bytes) / pages);
}

// Of each row what was asked for (its key), without what has a column.
using AskedFor = std::vector<Json>;

AskedFor asked_for(const std::vector<StoredRanks>& all) {
  AskedFor out;
  for (const StoredRanks& r : all) {
    out.push_back(parse_object(r.row.key));
    for (const char* column : {"split", "barrier", "order", "merge", "shuffle", "window_scope"}) {
      out.back().erase(column);
    }
  }
  return out;
}

// What has parts of its own (the disk) is numbered.
std::string value_text(const AskedFor& all, const std::string& name, const Json& value) {
  if (!value.is_object()) {
    return value.is_string() ? value.get<std::string>() : json_line(value);
  }
  std::vector<std::string> distinct;
  for (const Json& one : all) {
    std::string text = json_line(one.value(name, Json()));
    if (std::ranges::find(distinct, text) == distinct.end()) {
      distinct.push_back(std::move(text));
    }
  }
  const auto at = std::ranges::find(distinct, json_line(value));
  return std::to_string(at - distinct.begin() + 1);
}

// Names of those that not all rows have alike.
std::vector<std::string> differing(const AskedFor& all) {
  std::vector<std::string> names;
  for (const Json& one : all) {
    for (const auto& item : one.items()) {
      const std::string& name = item.key();
      const auto other = [&](const Json& s) { return s.value(name, Json()) != item.value(); };
      if (std::find(names.begin(), names.end(), name) == names.end() &&
          std::any_of(all.begin(), all.end(), other)) {
        names.push_back(name);
      }
    }
  }
  return names;
}

// "batch 16, disk 2"
std::string apart_text(const AskedFor& all, const std::vector<std::string>& names, const Json& of) {
  std::string out;
  for (const std::string& name : names) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    out += (out.empty() ? "" : ", ") + words + " " + value_text(all, name, of.value(name, Json()));
  }
  return out;
}

// cached: what caches had of the pages of what came; unknown: the kernel does not tell.
struct Fed {
  const StoredRanks& stored;
  std::optional<double> cached;
  std::vector<std::string> warnings;
};

std::vector<std::string> warnings_of(const Json& document) {
  std::vector<std::string> out;
  for (const Json& one : document.value("warnings", Json())) {
    out.push_back(one.is_string() ? one.get<std::string>() : json_line(one));
  }
  return out;
}

std::vector<Fed> fed_of(const std::vector<StoredRanks>& all) {
  std::vector<Fed> out;
  for (const StoredRanks& r : all) {
    const Json document = parse_object(r.row.document);
    out.push_back({r, cached_share(r.row, document), warnings_of(document)});
  }
  return out;
}

// Ranks that caches feed are no better for it.
bool fed_alike(const Fed& a, const Fed& b) {
  constexpr double kAlike = 0.1;
  return a.cached && b.cached ? std::abs(*a.cached - *b.cached) <= kAlike : !a.cached && !b.cached;
}

// The same settings, data, program and machine, as far as rank 0 tells.
bool comparable(const Fed& one, const Fed& other) {
  const RanksRow &a = one.stored.row, &b = other.stored.row;
  return a.key == b.key && a.hostname == b.hostname && a.kernel == b.kernel &&
         a.git_revision == b.git_revision && fed_alike(one, other) &&
         one.warnings.empty() == other.warnings.empty();
}

// Samples per second of one rank, as the rows have it.
std::optional<double> rate_of_one(const std::vector<Fed>& all, const Fed& of) {
  std::vector<double> rates;
  for (const Fed& f : all) {
    const RanksRow& r = f.stored.row;
    if (r.complete && r.ranks == 1 && comparable(f, of)) {
      rates.push_back(r.samples_per_s);
    }
  }
  return rates.empty() ? std::nullopt : std::optional(median(rates));
}

std::optional<double> efficiency(const std::vector<Fed>& all, const Fed& of) {
  const RanksRow& r = of.stored.row;
  const std::optional<double> one = rate_of_one(all, of);
  const bool known = one && *one > 0 && r.complete && r.split != "copy";
  return known ? std::optional(r.samples_per_s / (*one * r.ranks)) : std::nullopt;
}

// "reservoir, per rank"
std::string shuffle_text(const RanksRow& r) {
  return r.shuffle + (r.window_scope == "rank" ? ", per rank" : "");
}

std::string state_of(const Fed& one) {
  const RanksRow& r = one.stored.row;
  return (r.complete        ? "complete"
          : r.fault.empty() ? "incomplete"
                            : "incomplete: " + r.fault) +
         (one.warnings.empty() ? "" : "; " + one.warnings.front());
}

Table table_of_ranks(bool apart) {
  Table table;
  table.column("ranks");
  for (const char* title : {"nodes", "split", "barrier", "order", "merge", "shuffle"}) {
    table.column(title, Table::Align::left);
  }
  for (const char* title : {"samples/s", "throughput", "batch", "skew", "cached", "efficiency"}) {
    table.column(title);
  }
  if (apart) {
    table.column("set apart by", Table::Align::left);
  }
  table.column("state", Table::Align::left);
  return table;
}

std::vector<std::string> row_of(const std::vector<Fed>& all, const Fed& one) {
  const RanksRow& r = one.stored.row;
  const auto of_one = efficiency(all, one);
  return {std::to_string(r.ranks),
          std::to_string(r.nodes),
          r.split,
          r.barrier,
          r.order,
          r.merge,
          shuffle_text(r),
          fmt::format("{:.0f}", r.samples_per_s),
          format_bytes({static_cast<std::uint64_t>(r.bytes_per_s)}) + "/s",
          time_text(r.batch_ns),
          skew_text(r),
          one.cached ? fmt::format("{:.0f} %", 100 * *one.cached) : "-",
          of_one ? fmt::format("{:.2f}", *of_one) : "-",
          state_of(one)};
}

}  // namespace

std::string ranks_text(const std::vector<StoredRanks>& all) {
  const AskedFor asked = asked_for(all);
  const std::vector<std::string> names = differing(asked);
  Table table = table_of_ranks(!names.empty());
  const std::vector<Fed> fed = fed_of(all);
  for (std::size_t i = 0; i < fed.size(); ++i) {
    std::vector<std::string> row = row_of(fed, fed[i]);
    if (!names.empty()) {
      row.insert(row.end() - 1, apart_text(asked, names, asked[i]));
    }
    table.row(std::move(row));
  }
  return table.text();
}

Json ranks_json(const std::vector<StoredRanks>& all) {
  Json out = Json::array();
  const std::vector<Fed> fed = fed_of(all);
  for (const Fed& r : fed) {
    Json one = parse_object(r.stored.row.document);
    one["ranks_id"] = r.stored.id;
    const auto of_one = efficiency(fed, r);
    one["efficiency"] = of_one ? Json(*of_one) : Json(nullptr);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace blksweep
