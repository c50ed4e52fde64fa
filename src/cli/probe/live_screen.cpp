#include "cli/probe/live_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/units.h"
#include "cli/probe/counts.h"
#include "cli/probe/histogram_text.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;
constexpr std::size_t kWide = 120, kGap = 2, kFewRows = 3, kManyRows = 14;
constexpr std::size_t kHigh = 40, kFewFiles = 3, kManyFiles = 10;

double per(std::uint64_t n, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(n) / static_cast<double>(of);
}

std::string rate_of(std::uint64_t n, double length_s) {
  return format_rounded(static_cast<double>(n) / length_s);
}

std::string rate_of(const std::optional<std::uint64_t>& n, double length_s) {
  return n ? rate_of(*n, length_s) : "unknown";
}

std::string reads_text(const LiveFrame& f) {
  const ProbeReport& r = f.interval;
  const auto bytes = static_cast<std::uint64_t>(static_cast<double>(r.bytes) / f.length_s);
  return fmt::format("reads      {}/s   {}/s   {} each   seeks {:.1f} %   other {}/s",
                     rate_of(r.requests, f.length_s), format_bytes(Bytes{bytes}),
                     r.requests == 0 ? "-" : format_bytes(Bytes{r.bytes / r.requests}),
                     100 * share_of(r.seeks, r.requests), rate_of(r.other_requests, f.length_s));
}

// Both bars have one scale: the largest power of two that a mean of the past went up to.
std::array<std::string, 2> depth_texts(const LiveFrame& f, std::size_t columns) {
  const ProbeReport& r = f.interval;
  const std::uint64_t deepest = f.total.depth.empty() ? 1 : f.total.depth.back().first;
  const double driver = per(r.driver_sum, r.ticks), scheduler = per(r.scheduler_sum, r.ticks);
  const auto most = std::max({static_cast<double>(std::bit_ceil(deepest)), driver, scheduler});
  const auto line = [&](const char* name, std::uint64_t now, double mean) {
    const std::string text = fmt::format("{:<10} mean {:>7.2f}  now {:>5}  [", name, mean, now);
    const std::string end = fmt::format("] {:.0f}", most);
    const std::size_t taken = text.size() + end.size();
    return text + bar(mean, most, columns > taken + 4 ? columns - taken : 4) + end;
  };
  return {line("driver", r.driver_now, driver), line("scheduler", r.scheduler_now, scheduler)};
}

std::string merged_text(const LiveFrame& f) {
  const ProbeReport& r = f.interval;
  return fmt::format("merges     plug {}/s   scheduler {}/s   requeues {}/s   busy {:.0f} %",
                     rate_of(r.plug_merges, f.length_s), rate_of(r.scheduler_merges, f.length_s),
                     rate_of(r.requeues, f.length_s),
                     std::min(100.0, static_cast<double>(r.busy_ns) / 1e7 / f.length_s));
}

std::string percentiles_text(const ProbeReport& r) {
  return fmt::format("latency    p50 {}   p90 {}   p99 {}   p99.9 {}", latency_text(r, 0.5),
                     latency_text(r, 0.9), latency_text(r, 0.99), latency_text(r, 0.999));
}

std::string checked_text(const LiveFrame& f) {
  return fmt::format("checked    {} reads here, {} in /sys/block/*/stat",
                     format_count(f.interval.requests),
                     f.stat ? format_count(f.stat->reads) : "unknown");
}

ScreenLine losses_line(const ProbeReport& total) {
  const bool none = total.lost_events == 0 && total.healed == 0;
  return {.text = fmt::format("losses     {} events lost, {} completions healed since the start",
                              format_count(total.lost_events), format_count(total.healed)),
          .marked = !none};
}

// Of one CPU.
std::string cost_text(const LiveFrame& f) {
  const ProbeReport& r = f.interval;
  const std::uint64_t all = r.requests + r.other_requests;
  const std::string programs =
      r.programs_ns
          ? fmt::format(
                "{:.2f} % of a CPU ({})", static_cast<double>(*r.programs_ns) / 1e7 / f.length_s,
                all == 0 ? "idle" : fmt::format("{:.0f} ns a request", per(*r.programs_ns, all)))
          : "unknown";
  return fmt::format("cost       programs {}, this view {:.2f} %", programs,
                     static_cast<double>(f.view_ns) / 1e7 / f.length_s);
}

std::string short_duration(std::uint64_t ns) {
  return format_duration(Nanos(static_cast<std::int64_t>(ns)));
}

std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& columns) {
  std::vector<std::string> lines = columns.front();
  for (std::size_t c = 1; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += std::string(kGap, ' ') + columns[c][i];
    }
  }
  return lines;
}

std::vector<std::string> histograms_text(const ProbeReport& r, std::size_t rows,
                                         std::size_t columns) {
  std::vector<HistogramView> views = {
      {"latency", r.latency_ns, decades_of(kMinute), short_duration},
      {"size of reads", r.request_bytes, octaves_of(kPageBytes, std::uint64_t{1} << 23),
       [](std::uint64_t n) { return format_bytes(Bytes{n}); }}};
  if (columns >= kWide) {
    views.push_back(
        {"depth that a read found, itself included", r.depth, octaves_of(1, 1024), format_count});
  }
  const std::size_t width = (columns - kGap * (views.size() - 1)) / views.size();
  std::vector<std::vector<std::string>> texts;
  for (const HistogramView& view : views) {
    texts.push_back(histogram_text(view, rows, width));
  }
  return side_by_side(texts);
}

void add_past(std::vector<ScreenLine>& lines, const LiveFrame& f, std::size_t rows) {
  if (lines.size() + kFewRows > rows) {
    return;
  }
  lines.push_back({});
  lines.push_back({interval_heading()});
  for (std::size_t i = 0; i < f.past.size() && lines.size() < rows; ++i) {
    lines.push_back({f.past[i]});
  }
}

}  // namespace

std::vector<ScreenLine> live_screen(const LiveFrame& f, const ScreenSize& size) {
  const std::array<std::string, 2> depths = depth_texts(f, size.columns);
  std::string heading = fmt::format("{}   {:.0f} s   last {}   q ends", f.heading, f.at_s,
                                    short_duration(static_cast<std::uint64_t>(f.length_s * 1e9)));
  heading.resize(std::max(heading.size(), size.columns), ' ');
  std::vector<ScreenLine> lines = {{heading, true},
                                   {},
                                   {reads_text(f)},
                                   {depths[0]},
                                   {depths[1]},
                                   {merged_text(f)},
                                   {percentiles_text(f.interval)},
                                   {}};
  if (f.traffic) {
    for (std::string& line :
         traffic_lines(*f.traffic, size.rows >= kHigh ? kManyFiles : kFewFiles)) {
      line.resize(std::min(line.size(), size.columns));
      lines.push_back({std::move(line)});
    }
    lines.push_back({});
  }
  const std::vector<ScreenLine> ends = {
      {}, {checked_text(f)}, losses_line(f.total), {cost_text(f)}};
  const std::size_t fixed = lines.size() + ends.size() + 1;
  const std::size_t room = size.rows > fixed + kFewRows ? size.rows - fixed : kFewRows;
  for (std::string& line : histograms_text(f.interval, std::min(room, kManyRows), size.columns)) {
    lines.push_back({std::move(line)});
  }
  lines.insert(lines.end(), ends.begin(), ends.end());
  add_past(lines, f, size.rows);
  return lines;
}

}  // namespace blksweep
