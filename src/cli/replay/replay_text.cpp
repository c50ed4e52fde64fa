#include "cli/replay/replay_text.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"

namespace blksweep {
namespace {

std::string time_text(std::int64_t ns) { return format_duration(Nanos(ns)); }

std::string error_text(std::optional<double> share) {
  return share ? fmt::format("{:+.1f} %", 100 * *share) : "not known";
}

Json quantile_json(const LogHistogram& h, double share) {
  const auto buckets = h.buckets();
  return buckets.empty() ? Json() : Json(bucket_percentile(buckets, share));
}

std::string quantile_text(const LogHistogram& h, double share) {
  const auto buckets = h.buckets();
  return buckets.empty() ? "not known"
                         : time_text(static_cast<std::int64_t>(bucket_percentile(buckets, share)));
}

// An unfaithful replay has none: it would be read as the trace's, or the device's.
std::optional<double> requests_per_second(const ReplayReport& r) {
  const double seconds = static_cast<double>(r.certificate.length_ns) / 1e9;
  return r.certificate.verdict == Verdict::unfaithful || r.requests == 0 || seconds <= 0
             ? std::nullopt
             : std::optional(static_cast<double>(r.requests) / seconds);
}

std::string verdict_text(const Certificate& c) {
  return c.verdict == Verdict::held_back ? "held back by the device"
                                         : std::string(to_string(c.verdict));
}

std::vector<std::string> late_row(const std::string& name, const std::optional<LateQuantiles>& q) {
  return q ? std::vector{name, time_text(q->p50), time_text(q->p99), time_text(q->p999),
                         time_text(q->greatest)}
           : std::vector<std::string>{name, "-", "-", "-", "-"};
}

std::string lateness_table(const Certificate& c) {
  Table table;
  for (const char* column : {"late", "p50", "p99", "p99.9", "greatest"}) {
    table.column(column);
  }
  const auto row = [&](const char* name, const LateQuantiles& q) { table.row(late_row(name, q)); };
  row("in all", c.lateness);
  row("tool", c.tool);
  row("device", c.device);
  return table.text();
}

Json json_of(const char* prefix, const std::optional<LateQuantiles>& q, Json document) {
  const auto put = [&](const char* name, std::int64_t LateQuantiles::*member) {
    document[fmt::format("{}_{}_ns", prefix, name)] = q ? Json((*q).*member) : Json();
  };
  put("p50", &LateQuantiles::p50);
  put("p99", &LateQuantiles::p99);
  put("p999", &LateQuantiles::p999);
  put("max", &LateQuantiles::greatest);
  return document;
}

// Ours and fio's, both as the block layer saw them.
std::string fio_table(const ReplayReport& r) {
  Table table;
  for (const char* column : {"at the driver", "p50", "p99", "p99.9", "greatest", "not found"}) {
    table.column(column);
  }
  const auto row = [&](const std::string& name, const DriverLateness& l) {
    std::vector<std::string> cells = late_row(name, l.lateness);
    cells.push_back(format_count(l.missing));
    table.row(std::move(cells));
  };
  row("blksweep", *r.at_driver);
  if (r.fio) {
    row(r.fio->version, r.fio->lateness);
  }
  return "\n" + table.text();
}

Json driver_json(const DriverLateness& l) {
  Json j = {{"matched", l.matched}, {"missing", l.missing}, {"lost", l.lost}};
  return json_of("lateness", l.lateness, std::move(j));
}

Json certificate_json(const ReplayReport& r) {
  const Certificate& c = r.certificate;
  Json j = {{"verdict", to_string(c.verdict)}, {"reasons", c.reasons}, {"bound_ns", c.bound_ns}};
  j = json_of("lateness", c.lateness, std::move(j));
  j = json_of("tool_lateness", c.tool, std::move(j));
  j = json_of("device_lateness", c.device, std::move(j));
  j["issued"] = c.issued;
  j["failed"] = c.failed;
  j["left_out"] = r.left_out;
  j["out_of_order"] = c.out_of_order;
  j["rate_error"] = or_null(c.rate_error);
  j["gap_error"] = or_null(c.gap_error);
  j["latency_error"] = or_null(c.latency_error);
  j["depth_error"] = or_null(c.depth_error);
  j["recorded_depth_mean"] = or_null(c.recorded_depth_mean);
  j["free_share"] = or_null(c.free_share);
  j["stalled_ns"] = c.stalled_ns;
  j["own_requests_per_s"] = c.own_rate;
  j["peak_requests_per_s"] = c.peak_rate;
  return j;
}

}  // namespace

std::string replay_text(const ReplayReport& r) {
  const Certificate& c = r.certificate;
  std::string out = fmt::format("verdict     {}\n", verdict_text(c));
  for (const std::string& reason : c.reasons) {
    out += fmt::format("            {}\n", reason);
  }
  out += fmt::format("\n{}", lateness_table(c));
  out += r.at_driver ? fio_table(r) : "";
  const std::optional<double> rate = requests_per_second(r);
  out += fmt::format("\nrequests    {}{} in {}", format_count(r.requests),
                     r.writes > 0 ? fmt::format(" ({} writes)", format_count(r.writes)) : "",
                     time_text(c.length_ns));
  if (rate) {
    const double mean = static_cast<double>(r.bytes) / static_cast<double>(r.requests);
    out += fmt::format(" ({:.0f}/s, {}/s, {})", *rate,
                       format_bytes({static_cast<std::uint64_t>(*rate * mean)}), verdict_text(c));
  }
  out += fmt::format("\nlatency     p50 {}, p99 {}", quantile_text(r.latency, 0.5),
                     quantile_text(r.latency, 0.99));
  if (c.latency_error) {
    out += fmt::format("; recorded p50 {}, p99 {}", quantile_text(r.recorded_latency, 0.5),
                       quantile_text(r.recorded_latency, 0.99));
  }
  out += fmt::format("\ndepth       mean {:.2f} of at most {}", c.depth_mean, r.depth);
  if (c.recorded_depth_mean) {
    out += fmt::format("; recorded {:.2f}", *c.recorded_depth_mean);
  }
  out += fmt::format("\ndiffers by  rate {}, gaps {}, latency {}, depth {}\n",
                     error_text(c.rate_error), error_text(c.gap_error), error_text(c.latency_error),
                     error_text(c.depth_error));
  return out;
}

Json replay_json(const ReplaySettings& settings, const ReplayReport& r) {
  return {{"cell",
           {{"timing", to_string(settings.timing)},
            {"order", "recorded"},
            {"speed", settings.speed},
            {"addresses", to_string(settings.addresses)},
            {"depth", r.depth},
            {"awake", settings.awake},
            {"spin_ns", settings.spin_ns},
            {"direct", !settings.buffered}}},
          {"disk", r.disk},
          {"samples", r.requests},
          {"bytes", r.bytes},
          {"writes", r.writes},
          {"epoch_ns", r.certificate.length_ns},
          {"samples_per_s", or_null(requests_per_second(r))},
          {"depth_mean", r.certificate.depth_mean},
          {"latency_p50_ns", quantile_json(r.latency, 0.5)},
          {"latency_p99_ns", quantile_json(r.latency, 0.99)},
          {"latency_p999_ns", quantile_json(r.latency, 0.999)},
          {"short_reads", r.short_reads},
          {"rounded", r.rounded},
          {"own_read_bytes", or_null(r.own_read_bytes)},
          {"others_read_bytes", or_null(r.others_read_bytes)},
          {"others_written_bytes", or_null(r.others_written_bytes)},
          {"shared", or_null(r.shared)},
          {"incomplete", r.interrupted || r.certificate.failed > 0},
          {"at_driver", r.at_driver ? driver_json(*r.at_driver) : Json()},
          {"fio", r.fio ? driver_json(r.fio->lateness) : Json()},
          {"fio_version", r.fio ? Json(r.fio->version) : Json()},
          {"warnings", r.warnings},
          {"certificate", certificate_json(r)}};
}

}  // namespace blksweep
