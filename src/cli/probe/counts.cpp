#include "cli/probe/counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "probe/probe_math.h"

namespace blksweep {
namespace {

std::string count_text(std::optional<std::uint64_t> count) {
  return count ? format_count(*count) : "unknown";
}

std::string merges_text(const ProbeReport& r, double length_s) {
  return r.plug_merges && r.scheduler_merges
             ? fmt::format("{:.0f}",
                           static_cast<double>(*r.plug_merges + *r.scheduler_merges) / length_s)
             : "-";
}

struct SchedulerDepth {
  std::optional<double> mean;  // over the samples, idle time included
  std::uint32_t max = 0;
};

SchedulerDepth scheduler_depth(const std::vector<ProbeSample>& series) {
  SchedulerDepth d;
  std::uint64_t sum = 0;
  for (const ProbeSample& s : series) {
    sum += s.scheduler_depth;
    d.max = std::max(d.max, s.scheduler_depth);
  }
  if (!series.empty()) {
    d.mean = static_cast<double>(sum) / static_cast<double>(series.size());
  }
  return d;
}

}  // namespace

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string latency_text(const ProbeReport& r, double share) {
  const auto ns = latency_percentile(r.latency_ns, share);
  return ns ? format_duration(Nanos(static_cast<std::int64_t>(*ns))) : "-";
}

std::string optional_text(std::optional<double> value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string interval_heading() {
  return fmt::format("{:>8} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7}", "time_s",
                     "reads/s", "bytes/s", "depth", "p50", "p99", "request", "merges/s", "seeks_%",
                     "other/s");
}

std::string interval_line(double at_s, double length_s, const ProbeReport& r) {
  const auto rate = [length_s](std::uint64_t n) { return static_cast<double>(n) / length_s; };
  const std::uint64_t mean_bytes = r.requests == 0 ? 0 : r.bytes / r.requests;
  return fmt::format(
      "{:>8.1f} {:>10.0f} {:>10} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8.1f} {:>7.0f}", at_s,
      rate(r.requests), format_bytes(Bytes{static_cast<std::uint64_t>(rate(r.bytes))}),
      optional_text(r.depth_mean), latency_text(r, 0.5), latency_text(r, 0.99),
      r.requests == 0 ? "-" : format_bytes(Bytes{mean_bytes}), merges_text(r, length_s),
      100 * share_of(r.seeks, r.requests), rate(r.other_requests));
}

Json counts_json(const ProbeReport& r) {
  return {{"requests", r.requests},
          {"bytes", r.bytes},
          {"plug_merges", or_null(r.plug_merges)},
          {"scheduler_merges", or_null(r.scheduler_merges)},
          {"seeks", r.seeks},
          {"other_requests", r.other_requests},
          {"requeues", or_null(r.requeues)},
          {"depth_mean", or_null(r.depth_mean)},
          {"busy_ns", r.busy_ns},
          {"latency_mean_ns", or_null(latency_mean(r.latency_ns))},
          {"latency_p50_ns", or_null(latency_percentile(r.latency_ns, 0.5))},
          {"latency_p90_ns", or_null(latency_percentile(r.latency_ns, 0.9))},
          {"latency_p99_ns", or_null(latency_percentile(r.latency_ns, 0.99))},
          {"latency_p999_ns", or_null(latency_percentile(r.latency_ns, 0.999))}};
}

void add_details(Json& json, const ProbeReport& r) {
  json["healed"] = r.healed;
  json["healed_ns"] = r.healed_ns;
  json["lost_events"] = r.lost_events;
  json["depth"] = r.depth;
  json["request_bytes"] = r.request_bytes;
  json["latency_ns"] = r.latency_ns;
}

Json summary_json(const ProbeReport& r, std::int64_t length_ns) {
  Json j = counts_json(r);
  const SchedulerDepth waiting = scheduler_depth(r.series);
  j["length_ns"] = length_ns;
  j["scheduler_depth_mean"] = or_null(waiting.mean);
  j["scheduler_depth_max"] = waiting.max;
  j["stat_difference"] = or_null(r.stat_difference);
  add_details(j, r);
  j["warnings"] = r.warnings;
  return j;
}

std::string summary_text(const std::string& disk, const ProbeReport& r, std::int64_t length_ns) {
  const SchedulerDepth waiting = scheduler_depth(r.series);
  std::string out = fmt::format("{}: {} reads, {} in {}\n", disk, format_count(r.requests),
                                format_bytes(Bytes{r.bytes}), format_duration(Nanos(length_ns)));
  out += fmt::format(
      "  depth      mean {} at the driver while busy; mean {}, max {} in the scheduler\n",
      optional_text(r.depth_mean), optional_text(waiting.mean), waiting.max);
  out += fmt::format("  latency    p50 {}  p90 {}  p99 {}  p99.9 {}\n", latency_text(r, 0.5),
                     latency_text(r, 0.9), latency_text(r, 0.99), latency_text(r, 0.999));
  out += fmt::format("  merges     {} in the plug, {} in the scheduler\n",
                     count_text(r.plug_merges), count_text(r.scheduler_merges));
  out += fmt::format("  seeks      {:.1f} % of the reads\n", 100 * share_of(r.seeks, r.requests));
  out +=
      fmt::format("  checked    {} of /sys/block/{}/stat; {} completions healed, {} events lost\n",
                  r.stat_difference ? fmt::format("within {:.2f} %", *r.stat_difference * 100)
                                    : "not comparable with reads",
                  disk, format_count(r.healed), format_count(r.lost_events));
  return out;
}

}  // namespace blksweep
