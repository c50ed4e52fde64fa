#include "cli/trace/stat_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "trace/trace_facts.h"

namespace blksweep {
namespace {

constexpr std::size_t kShownSizes = 12;  // of the curve, the largest caches; JSON has all

std::string maybe(std::optional<double> value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "not known";
}

Bytes moved(const TraceStat& s) { return {s.bytes(TraceOp::read) + s.bytes(TraceOp::write)}; }

void say_line(std::string& out, const char* what, const std::string& value) {
  out += fmt::format("{:<14}{}\n", what, value);
}

std::string timing_of(const TraceFacts& f) { return f.synthetic_times ? "synthetic" : "measured"; }

std::string distribution(const LogHistogram& h, bool is_time) {
  const auto buckets = h.buckets();
  if (buckets.empty()) {
    return "not known";
  }
  const auto show = [is_time](std::uint64_t v) {
    return is_time ? format_duration(Nanos(static_cast<std::int64_t>(v))) : format_bytes({v});
  };
  return fmt::format("p50 {}, p90 {}, p99 {}, greatest {}", show(bucket_percentile(buckets, 0.5)),
                     show(bucket_percentile(buckets, 0.9)), show(bucket_percentile(buckets, 0.99)),
                     show(buckets.back().first));
}

std::string curve_text(const MissRatio& m) {
  Table table;
  table.column("cache");
  table.column("misses");
  const std::vector<MissRatio::Point> curve = m.curve();
  const std::size_t shown = std::min(kShownSizes, curve.size());
  for (const MissRatio::Point& p : std::span(curve).last(shown)) {
    table.row({format_bytes({p.cached * kStatBlock}), fmt::format("{:.1f} %", 100 * p.misses)});
  }
  const std::string how =
      m.exact() ? "exact" : fmt::format("from a sample; mean error {:.1f} points", 100 * m.error());
  return fmt::format("\nLRU cache of 4 KiB blocks ({})\n{}", how, table.text());
}

Json curve_json(const MissRatio& m) {
  Json out = Json::array();
  for (const MissRatio::Point& p : m.curve()) {
    out.push_back({{"cache_bytes", p.cached * kStatBlock}, {"miss_ratio", p.misses}});
  }
  return out;
}

Json percentiles(const LogHistogram& h) {
  const auto buckets = h.buckets();
  return buckets.empty() ? Json(nullptr)
                         : Json{{"p50", bucket_percentile(buckets, 0.5)},
                                {"p90", bucket_percentile(buckets, 0.9)},
                                {"p99", bucket_percentile(buckets, 0.99)},
                                {"greatest", buckets.back().first}};
}

// The last step ends with the trace.
Json depth_in(const TraceStat& stat, std::size_t step) {
  const std::int64_t step_ns = stat.rate().step_ns();
  const std::int64_t begin = static_cast<std::int64_t>(step) * step_ns;
  const std::int64_t length = std::min(step_ns, stat.duration_ns() - begin);
  return length > 0 ? Json(stat.rate().steps()[step].in_flight_ns / static_cast<double>(length))
                    : Json(nullptr);
}

Json rate_json(const TraceStat& stat) {
  const RateSeries& rate = stat.rate();
  Json requests = Json::array(), bytes = Json::array(), depth = Json::array();
  for (std::size_t step = 0; step < rate.steps().size(); ++step) {
    requests.push_back(rate.steps()[step].requests);
    bytes.push_back(rate.steps()[step].bytes);
    depth.push_back(depth_in(stat, step));
  }
  return {{"step_ns", rate.step_ns()},
          {"requests", requests},
          {"bytes", bytes},
          {"depth", stat.tells_depth() ? depth : Json(nullptr)}};
}

}  // namespace

std::string stat_text(const TraceReader& trace, const TraceStat& s) {
  const TraceFacts& f = trace.facts();
  const double seconds = static_cast<double>(s.duration_ns()) / 1e9;
  std::string out;
  say_line(out, "trace",
           fmt::format("{}, {}{}", name_of(f.kind), printable(f.format),
                       trace.whole() ? "" : ", not finished by its writer"));
  say_line(
      out, "requests",
      fmt::format("{} ({} reads, {} writes)", format_count(s.requests()),
                  format_count(s.count(TraceOp::read)), format_count(s.count(TraceOp::write))));
  if (s.empty() > 0) {  // half of a trace, where readers go on until a read gives nothing
    say_line(out, "empty",
             fmt::format("{} of them moved nothing, as at the end of a file: not in size, latency, "
                         "sequential",
                         format_count(s.empty())));
  }
  say_line(out, f.kind == TraceKind::block ? "volumes" : "files",
           format_count(trace.names().size()));
  say_line(out, "threads", s.threads() > 0 ? format_count(s.threads()) : "not known");
  say_line(out, "bytes", format_bytes(moved(s)));
  say_line(out, "duration",
           format_duration(Nanos(s.duration_ns())) + fmt::format(" ({} times)", timing_of(f)));
  say_line(out, "rate",
           seconds > 0
               ? fmt::format("{:.0f} requests/s, {}/s", static_cast<double>(s.requests()) / seconds,
                             format_bytes({static_cast<std::uint64_t>(
                                 static_cast<double>(moved(s).n) / seconds)}))
               : "not known");
  say_line(out, "gaps", maybe(s.gap_variation(), "variation {:.2f} (1: Poisson)"));
  say_line(out, "size", distribution(s.sizes(), false));
  say_line(out, "latency", distribution(s.latencies(), true));
  say_line(out, "depth", maybe(s.mean_depth(), "mean {:.1f}"));
  say_line(out, "sequential", maybe(s.sequential(), "{:.2f} of reads and writes"));
  say_line(out, "footprint",
           (s.blocks().exact() ? "" : "about ") +
               format_bytes({static_cast<std::uint64_t>(s.blocks().keys()) * kStatBlock}));
  return s.blocks().references() > 0 ? out + curve_text(s.blocks()) : out;
}

Json stat_json(const TraceReader& trace, const TraceStat& s) {
  const TraceFacts& f = trace.facts();
  Json document = json_of(f);
  document["whole"] = trace.whole();
  document["requests"] = s.requests();
  document["reads"] = s.count(TraceOp::read);
  document["writes"] = s.count(TraceOp::write);
  document["empty"] = s.empty();
  document["discards"] = s.count(TraceOp::discard);
  document["flushes"] = s.count(TraceOp::flush);
  document["other"] = s.count(TraceOp::other);
  document["read_bytes"] = s.bytes(TraceOp::read);
  document["write_bytes"] = s.bytes(TraceOp::write);
  document["duration_ns"] = s.duration_ns();
  const bool block = f.kind == TraceKind::block;
  document["volumes"] = block ? Json(trace.names().size()) : Json(nullptr);
  document["files"] = block ? Json(nullptr) : Json(trace.names().size());
  document["threads"] = s.threads() > 0 ? Json(s.threads()) : Json(nullptr);
  document["footprint_bytes"] = static_cast<std::uint64_t>(s.blocks().keys()) * kStatBlock;
  document["footprint_exact"] = s.blocks().exact() && s.cut() == 0;
  document["timing"] = timing_of(f);
  document["gap_variation"] = or_null(s.gap_variation());
  document["depth_mean"] = or_null(s.mean_depth());
  document["depth_greatest"] = or_null(s.greatest_depth());
  document["sequential"] = or_null(s.sequential());
  document["size_bytes"] = percentiles(s.sizes());
  document["latency_ns"] = percentiles(s.latencies());
  document["miss_ratio_curve"] = curve_json(s.blocks());
  document["miss_ratio_error"] = s.blocks().error();
  document["rate"] = rate_json(s);
  return document;
}

}  // namespace blksweep
