// The terminal's table of a summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "base/units.h"
#include "store/summary.h"

namespace blksweep {
namespace {

constexpr double kMiB = 1048576;
constexpr double kLeastStall = 0.0005;  // of the epoch; less would read 0.0 %

// Three digits that matter, never an exponent: 12345, 123, 12.3, 1.23.
std::string digits(double x) {
  const double size = std::abs(x);
  return fmt::format("{:.{}f}", x, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

template <class Format>
std::string shown(const Maybe<double>& x, Format format) {
  return x ? format(*x) : "-";
}

std::string range(const Maybe<Estimate>& e, double scale) {
  return e && e->interval ? fmt::format("{}..{}", digits(e->interval->low / scale),
                                        digits(e->interval->high / scale))
                          : "-";
}

std::string ratio(const CellSummary& c) {
  if (c.baseline) {
    return "baseline";
  }
  if (!c.ratio) {
    return "-";
  }
  return c.ratio->interval ? fmt::format("{} [{}]", digits(c.ratio->value), range(c.ratio, 1))
                           : digits(c.ratio->value);
}

std::string verdict(const CellSummary& c) {
  if (c.baseline || !c.ratio || !c.ratio->interval) {
    return "";
  }
  return !c.differs() ? "no difference" : c.ratio->value > 1 ? "faster" : "slower";
}

std::string whole(double x) { return format_count(static_cast<std::uint64_t>(std::llround(x))); }
std::string percent(double x) { return fmt::format("{:.0f} %", x * 100); }
std::string tenth_percent(double x) { return fmt::format("{:.1f} %", x * 100); }
std::string signed_percent(double x) { return fmt::format("{:+.1f} %", x * 100); }
std::string duration(double ns) { return format_duration(Nanos{static_cast<Nanos::rep>(ns)}); }

struct Column {
  const char* title;
  std::string (*text)(const CellSummary&);
  bool optional;  // left out when no cell has a value
};

constexpr Column kColumns[] = {
    {"n", [](const CellSummary& c) { return std::to_string(c.runs); }, false},
    {"left out",
     [](const CellSummary& c) { return c.incomplete > 0 ? std::to_string(c.incomplete) : "-"; },
     true},
    {"samples/s",
     [](const CellSummary& c) { return c.samples_per_s ? whole(c.samples_per_s->value) : "-"; },
     false},
    {"MiB/s",
     [](const CellSummary& c) { return c.bytes_per_s ? digits(c.bytes_per_s->value / kMiB) : "-"; },
     false},
    {"95 % interval", [](const CellSummary& c) { return range(c.bytes_per_s, kMiB); }, true},
    {"ratio", ratio, false},
    {"", verdict, true},
    {"/ fio", [](const CellSummary& c) { return c.fio_ratio ? digits(c.fio_ratio->value) : "-"; },
     true},
    {"/ plain fio", [](const CellSummary& c) { return shown(c.twins.plain_ratio, digits); }, true},
    {"requests ours / fio", [](const CellSummary& c) { return requests_text(c.twins); }, true},
    {"of ceiling", [](const CellSummary& c) { return shown(c.ceiling_share, percent); }, true},
    {"1st batch", [](const CellSummary& c) { return shown(c.first_batch_ns, duration); }, true},
    {"depth", [](const CellSummary& c) { return shown(c.depth_mean, digits); }, true},
    {"requests", [](const CellSummary& c) { return shown(c.requests_issued, whole); }, true},
    {"fallbacks",
     [](const CellSummary& c) {
       return c.device_fallbacks.value_or(0) > 0 ? whole(*c.device_fallbacks) : "-";
     },
     true},
    {"read/used", [](const CellSummary& c) { return shown(c.device_bytes_per_byte, digits); },
     true},
    {"busy", [](const CellSummary& c) { return shown(c.utilisation, percent); }, true},
    {"copy shown", [](const CellSummary& c) { return shown(c.exposed_copy, tenth_percent); }, true},
    {"copy CPU", [](const CellSummary& c) { return shown(c.copy_cpu_ns_per_part, duration); },
     true},
    {"of ideal", [](const CellSummary& c) { return shown(c.ideal_share, percent); }, true},
    {"predicted", [](const CellSummary& c) { return shown(c.prediction_epoch_ns, duration); },
     true},
    {"error", [](const CellSummary& c) { return shown(c.prediction_error, signed_percent); }, true},
    {"displaced", [](const CellSummary& c) { return shown(c.quality.displacement, digits); }, true},
    {"label mix", [](const CellSummary& c) { return shown(c.quality.label_mix, digits); }, true},
};

bool worth_showing(const Column& column, const std::vector<CellSummary>& cells) {
  return !column.optional || std::ranges::any_of(cells, [&](const CellSummary& c) {
    const std::string text = column.text(c);
    return !text.empty() && text != "-";
  });
}

// "lba: compute stands still 3.1 % of the epoch: storage 2.6 %, copy 0.5 %": greatest first.
std::string stalls(const CellSummary& c) {
  std::vector<std::pair<double, std::string>> causes;
  double all = 0;
  for (const auto& [cause, share] : c.stalls) {
    all += share;
    if (share >= kLeastStall) {
      causes.emplace_back(-share, cause);
    }
  }
  if (causes.empty()) {
    return "";
  }
  std::ranges::sort(causes);
  std::string text = fmt::format("{}: {} stands still {} of the epoch:", c.label, c.stalled_lane,
                                 tenth_percent(all));
  for (const auto& [share, cause] : causes) {
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", cause, tenth_percent(-share));
  }
  return text + '\n';
}

std::string notes(const std::vector<CellSummary>& cells) {
  std::string out;
  std::size_t fewest = SIZE_MAX;
  bool compared = false;
  bool same = true;
  for (const CellSummary& c : cells) {
    out += stalls(c);
    out += twin_notes(c.label, c.twins);
    compared |= c.twins.ratio.has_value();
    same &= !c.twins.ratio || c.twins.same_requests();
    fewest = c.runs > 0 ? std::min(fewest, c.runs) : fewest;
    for (const std::string& reason : c.incomplete_reasons) {
      out += fmt::format("left out of {}: {}\n", c.label, reason.empty() ? "incomplete" : reason);
    }
  }
  if (compared && same) {
    out += "fio made as many requests at the device, within 2 %: no ratio to it is merging\n";
  }
  if (fewest == 1) {
    out += "one repeat: no interval, and no difference can be shown; use --repeats 6 or more\n";
  } else if (fewest != SIZE_MAX && coverage_bound(fewest) < 0.95) {
    out += fmt::format(
        "{} repeats: a bootstrap interval from so few covers the truth in at most {:.0f} % "
        "of cases; 6 repeats make 95 % possible\n",
        fewest, coverage_bound(fewest) * 100);
  }
  return out;
}

}  // namespace

std::string summary_text(const std::vector<CellSummary>& cells) {
  std::vector<Column> columns;
  std::ranges::copy_if(kColumns, std::back_inserter(columns),
                       [&](const Column& c) { return worth_showing(c, cells); });
  Table table;
  table.column("cell", Table::Align::left);
  for (const Column& c : columns) {
    table.column(c.title, *c.title == '\0' ? Table::Align::left : Table::Align::right);
  }
  for (const CellSummary& cell : cells) {
    std::vector<std::string> row{cell.label};
    std::ranges::transform(columns, std::back_inserter(row),
                           [&](const Column& c) { return c.text(cell); });
    table.row(std::move(row));
  }
  return table.text() + notes(cells);
}

}  // namespace blksweep
