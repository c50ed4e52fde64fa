// blksweep probe DEV: what a block device is doing right now, one line per interval.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/device_argument.h"
#include "cli/verb.h"
#include "os/blockdev.h"
#include "os/signals.h"
#include "probe/block_probe.h"
#include "probe/probe_math.h"

namespace blksweep {
namespace {

constexpr const char* kProbeExamples =
    R"(Reads issued to the driver; latency is issue to completion. Depth is the mean
over the time in which the device had something to do. Ends after --seconds, or
with Ctrl-C.

examples:
  blksweep probe vda
  blksweep probe /dev/vda --seconds 10 --interval 500ms
  blksweep probe . --seconds 5 --json > probe.json)";

struct ProbeOptions {
  std::string device;
  std::uint64_t seconds = 0;  // 0: until interrupted
  Nanos interval = std::chrono::seconds(1);
  bool json = false;
};

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

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

std::string count_text(std::optional<std::uint64_t> count) {
  return count ? format_count(*count) : "unknown";
}

std::string merges_text(const ProbeReport& r, double length_s) {
  return r.plug_merges && r.scheduler_merges
             ? fmt::format("{:.0f}",
                           static_cast<double>(*r.plug_merges + *r.scheduler_merges) / length_s)
             : "-";
}

void print_header() {
  say("{:>8} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7}\n", "time_s", "reads/s",
      "bytes/s", "depth", "p50", "p99", "request", "merges/s", "seeks_%", "other/s");
}

void print_line(double at_s, double length_s, const ProbeReport& r) {
  const auto rate = [length_s](std::uint64_t n) { return static_cast<double>(n) / length_s; };
  const std::uint64_t mean_bytes = r.requests == 0 ? 0 : r.bytes / r.requests;
  say("{:>8.1f} {:>10.0f} {:>10} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8.1f} {:>7.0f}\n", at_s,
      rate(r.requests), format_bytes(Bytes{static_cast<std::uint64_t>(rate(r.bytes))}),
      optional_text(r.depth_mean), latency_text(r, 0.5), latency_text(r, 0.99),
      r.requests == 0 ? "-" : format_bytes(Bytes{mean_bytes}), merges_text(r, length_s),
      100 * share_of(r.seeks, r.requests), rate(r.other_requests));
  flush_answer();
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

Json summary_json(const ProbeReport& r, std::int64_t length_ns) {
  Json j = counts_json(r);
  const SchedulerDepth waiting = scheduler_depth(r.series);
  j["length_ns"] = length_ns;
  j["scheduler_depth_mean"] = or_null(waiting.mean);
  j["scheduler_depth_max"] = waiting.max;
  j["healed"] = r.healed;
  j["healed_ns"] = r.healed_ns;
  j["lost_events"] = r.lost_events;
  j["stat_difference"] = or_null(r.stat_difference);
  j["depth"] = r.depth;
  j["request_bytes"] = r.request_bytes;
  j["latency_ns"] = r.latency_ns;
  j["warnings"] = r.warnings;
  return j;
}

void print_summary(const std::string& disk, const ProbeReport& r, std::int64_t length_ns) {
  const SchedulerDepth waiting = scheduler_depth(r.series);
  say("\n{}: {} reads, {} in {}\n", disk, format_count(r.requests), format_bytes(Bytes{r.bytes}),
      format_duration(Nanos(length_ns)));
  say("  depth      mean {} at the driver while busy; mean {}, max {} in the scheduler\n",
      optional_text(r.depth_mean), optional_text(waiting.mean), waiting.max);
  say("  latency    p50 {}  p90 {}  p99 {}  p99.9 {}\n", latency_text(r, 0.5), latency_text(r, 0.9),
      latency_text(r, 0.99), latency_text(r, 0.999));
  say("  merges     {} in the plug, {} in the scheduler\n", count_text(r.plug_merges),
      count_text(r.scheduler_merges));
  say("  seeks      {:.1f} % of the reads\n", 100 * share_of(r.seeks, r.requests));
  say("  checked    {} of /sys/block/{}/stat; {} completions healed, {} events lost\n",
      r.stat_difference ? fmt::format("within {:.2f} %", *r.stat_difference * 100)
                        : "not comparable with reads",
      disk, format_count(r.healed), format_count(r.lost_events));
}

// In slices, so that a signal just before the sleep does not cost a whole interval.
void sleep_until(std::int64_t when_ns) {
  constexpr std::int64_t kSlice = 100'000'000;
  while (!stop_requested() && now_ns() < when_ns) {
    const std::int64_t slice = std::min(when_ns, now_ns() + kSlice);
    const timespec at{.tv_sec = slice / 1'000'000'000, .tv_nsec = slice % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
}

class LiveView {
 public:
  LiveView(const ProbeOptions& options, const BlockDevice& device, BlockProbe& probe)
      : options_(options), device_(device), probe_(probe) {}

  Result<Exit> watch() {
    BLKSWEEP_CHECK(probe_.start());
    begin_ns_ = now_ns();
    if (!options_.json) {
      print_header();
    }
    BLKSWEEP_CHECK(watch_intervals());
    const std::int64_t length_ns = now_ns() - begin_ns_;
    BLKSWEEP_TRY(const ProbeReport report, probe_.stop());
    finish(report, length_ns);
    return exit_of(report);
  }

 private:
  Result<> watch_intervals() {
    const std::int64_t wanted = static_cast<std::int64_t>(options_.seconds) * 1'000'000'000;
    const std::int64_t end_ns = wanted == 0 ? INT64_MAX : begin_ns_ + wanted;
    std::int64_t from_ns = begin_ns_;
    ProbeReport before;
    while (!stop_requested() && !answer_lost() && from_ns < end_ns) {
      sleep_until(std::min(end_ns, from_ns + options_.interval.count()));
      BLKSWEEP_TRY(ProbeReport now, probe_.snapshot());
      const std::int64_t to_ns = now_ns();
      show(from_ns, to_ns, between(before, now));
      before = std::move(now);
      from_ns = to_ns;
    }
    return {};
  }

  void show(std::int64_t from_ns, std::int64_t to_ns, const ProbeReport& r) {
    if (!options_.json) {
      print_line(seconds_of(to_ns - begin_ns_), seconds_of(to_ns - from_ns), r);
      return;
    }
    Json j = counts_json(r);
    j["begin_ns"] = from_ns;
    j["end_ns"] = to_ns;
    intervals_.push_back(std::move(j));
  }

  void finish(const ProbeReport& report, std::int64_t length_ns) {
    if (options_.json) {
      const Json document = {{"device", device_.disk},
                             {"intervals", std::move(intervals_)},
                             {"summary", summary_json(report, length_ns)}};
      say_text(json_line(document) + "\n");
    } else {
      print_summary(device_.disk, report, length_ns);
    }
    for (const std::string& warning : report.warnings) {
      warn(warning);
    }
  }

  // Ctrl-C is how an open-ended view ends, but it cuts short one of given length.
  Exit exit_of(const ProbeReport& report) const {
    if (options_.seconds != 0 && stop_requested()) {
      return Exit::interrupted;
    }
    const bool wrong = report.lost_events > 0 || report.stat_difference.value_or(0) > 0.01;
    return wrong ? Exit::incomplete : Exit::done;
  }

  const ProbeOptions& options_;
  const BlockDevice& device_;
  BlockProbe& probe_;
  std::int64_t begin_ns_ = 0;
  Json intervals_ = Json::array();
};

Result<Exit> probe_device(const ProbeOptions& options) {
  BLKSWEEP_TRY(const BlockDevice device, device_of_argument(options.device));
  if (device.dev != device.whole_disk) {
    note(fmt::format("{} is a partition: showing the whole disk {}", device.node, device.disk));
  }
  BLKSWEEP_TRY(const std::unique_ptr<BlockProbe> probe, open_block_probe(device.whole_disk));
  install_stop_signals();
  return LiveView(options, device, *probe).watch();
}

Result<Nanos> parse_interval(std::string_view text) {
  Result<Nanos> interval = parse_duration(text);
  if (interval && *interval < std::chrono::milliseconds(10)) {
    return usage_error(fmt::format("'{}' is too short: give 10ms or more", text));
  }
  return interval;
}

Result<std::uint64_t> probe_parse_seconds(std::string_view text) {
  Result<std::uint64_t> seconds = parse_count(text);
  if (seconds && (*seconds == 0 || *seconds > 1'000'000)) {
    return usage_error(fmt::format("'{}' is out of range: give 1 to 1000000", text));
  }
  return seconds;
}

}  // namespace

void add_probe(Verbs& verbs) {
  Command app = verbs.root.add_subcommand(
      "probe", "live queue depth, latency, merges and seeks of a block device");
  const auto options = std::make_shared<ProbeOptions>();
  app.add_option("DEV", options->device, "vda, /dev/vda, or a path: the disk beneath it")
      .required();
  add_parsed(app, "--seconds", options->seconds, probe_parse_seconds,
             "how long (default: until Ctrl-C)");
  add_parsed(app, "--interval", options->interval, parse_interval, "one line each (default 1s)");
  app.add_flag("--json", options->json, "one JSON document at the end: intervals, summary");
  app.footer(kProbeExamples);
  app.callback([&verbs, options] { verbs.action = [options] { return probe_device(*options); }; });
}

}  // namespace blksweep
