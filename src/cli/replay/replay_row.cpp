#include "cli/replay/replay_row.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/replay/replay_text.h"
#include "cli/version.h"
#include "os/hostfacts.h"
#include "trace/trace_record.h"

namespace blksweep {
namespace {

void add_histogram(ReplayRow& row, const char* kind, const LogHistogram& h) {
  for (const auto& [lower, count] : h.buckets()) {
    row.curves.push_back({kind, static_cast<double>(lower), static_cast<double>(count)});
  }
}

void add_curves(ReplayRow& row, const ReplayReport& r) {
  add_histogram(row, "late", r.lateness);
  add_histogram(row, "late_tool", r.tool_lateness);
  add_histogram(row, "latency", r.latency);
  add_histogram(row, "latency_recorded", r.recorded_latency);
  if (r.at_driver) {
    add_histogram(row, "late_driver", r.at_driver->histogram);
  }
  if (r.fio) {
    add_histogram(row, "late_fio", r.fio->lateness.histogram);
  }
  for (std::size_t w = 0; w < r.rate.size(); ++w) {
    const double begin = static_cast<double>(w) * static_cast<double>(kRateWindow);
    row.curves.push_back({"due", begin, static_cast<double>(r.rate[w].due)});
    row.curves.push_back({"issued", begin, static_cast<double>(r.rate[w].issued)});
  }
}

void add_certificate(ReplayRow& row, const Certificate& c) {
  row.verdict = to_string(c.verdict);
  row.reason = joined(c.reasons, "; ");
  row.depth_mean = c.depth_mean;
  row.failed = c.failed;
  row.length_ns = c.length_ns;
  row.late_p50_ns = c.lateness.p50;
  row.late_p99_ns = c.lateness.p99;
  row.late_p999_ns = c.lateness.p999;
  row.late_max_ns = c.lateness.greatest;
  row.tool_p50_ns = c.tool.p50;
  row.tool_p99_ns = c.tool.p99;
  row.tool_p999_ns = c.tool.p999;
  row.tool_max_ns = c.tool.greatest;
  row.device_p99_ns = c.device.p99;
}

}  // namespace

ReplayRow replay_row(const ReplayOrigin& origin, const ReplaySettings& settings,
                     const ReplayReport& report) {
  ReplayRow row;
  row.key = origin.key;
  row.trace = origin.trace;
  row.trace_kind = name_of(origin.kind);
  row.target = settings.device.empty() ? settings.folder : settings.device;
  row.disk = report.disk;
  row.shared = report.shared;
  row.timing = to_string(settings.timing);
  row.addresses = to_string(settings.addresses);
  row.speed = settings.speed;
  row.depth = report.depth;
  row.requests = report.requests;
  row.bytes = report.bytes;
  row.writes = report.writes;
  for (const auto& [reason, count] : report.left_out) {
    row.left_out += count;
  }
  add_certificate(row, report.certificate);
  if (report.fio) {
    row.fio_version = report.fio->version;
    if (const auto& late = report.fio->lateness.lateness) {
      row.fio_p50_ns = late->p50;
      row.fio_p99_ns = late->p99;
    }
  }
  row.document = json_line(replay_json(settings, report));
  row.started_unix_ns = origin.started_unix_ns;
  row.interrupted = report.interrupted;
  const HostFacts host = read_host_facts();
  row.hostname = host.hostname;
  row.kernel = host.kernel;
  row.tool_version = version();
  row.git_revision = git_revision();
  row.argv = joined(origin.argv, " ");
  add_curves(row, report);
  return row;
}

}  // namespace blksweep
