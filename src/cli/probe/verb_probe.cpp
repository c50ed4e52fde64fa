// blksweep probe DEV: what a block device is doing right now, one line per interval.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/device_argument.h"
#include "cli/probe/displays.h"
#include "cli/probe/file_traffic.h"
#include "cli/verb.h"
#include "os/block/blockdev.h"
#include "os/process/signals.h"
#include "probe/block_probe.h"
#include "probe/probe_math.h"

namespace blksweep {
namespace {

constexpr const char* kProbeExamples =
    R"(Reads issued to the driver; latency is issue to completion. Depth is the mean
over the time in which the device had something to do. Ends after --seconds, or
with Ctrl-C.

examples:
  blksweep probe vda --live --catalog data.cat
  blksweep probe /dev/vda --seconds 10 --interval 500ms
  blksweep probe . --seconds 5 --json > probe.json)";

struct ProbeOptions {
  std::string device;
  std::uint64_t seconds = 0;  // 0: until interrupted
  Nanos interval = std::chrono::seconds(1);
  std::string data;  // a catalog's file or a data set's folder; empty: requests of no file
  bool live = false, json = false;
};

class Watch {
 public:
  Watch(const ProbeOptions& options, const BlockDevice& device, BlockProbe& probe,
        const WatchedData* data)
      : options_(options), device_(device), probe_(probe), data_(data) {}

  Result<Exit> run() {
    BLKSWEEP_CHECK(probe_.start());
    begin_ns_ = now_ns();
    display_ = make_display(display_kind(), device_);
    BLKSWEEP_CHECK(watch_intervals());
    const std::int64_t length_ns = now_ns() - begin_ns_;
    BLKSWEEP_TRY(ProbeReport report, probe_.stop());
    std::optional<FileTraffic> traffic;
    if (data_ != nullptr) {
      traffic = traffic_of(*data_, report.issues, report);
      compare_files(*traffic, report.warnings);
    }
    display_->finish(report, length_ns, traffic ? &*traffic : nullptr);
    for (const std::string& warning : report.warnings) {
      warn(warning);
    }
    return exit_of(report);
  }

 private:
  // What an interval begins with.
  struct Moment {
    std::int64_t at_ns = 0, cpu_ns = 0;
    ProbeReport counts;
    std::optional<DiskStat> stat;
  };

  DisplayKind display_kind() const {
    if (options_.json) {
      return options_.live ? DisplayKind::json_lines : DisplayKind::document;
    }
    return options_.live ? DisplayKind::screen : DisplayKind::lines;
  }

  Result<Moment> moment() {
    Moment m;
    BLKSWEEP_TRY(m.counts, probe_.snapshot());
    if (const Result<DiskStat> stat = counting_stat(device_.disk)) {
      m.stat = *stat;
    }
    m.at_ns = now_ns();
    m.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    return m;
  }

  Result<> watch_intervals() {
    const std::int64_t wanted = static_cast<std::int64_t>(options_.seconds) * 1'000'000'000;
    const std::int64_t end_ns = wanted == 0 ? INT64_MAX : begin_ns_ + wanted;
    BLKSWEEP_TRY(Moment before, moment());
    while (!display_->ended() && before.at_ns < end_ns) {
      wait_until(std::min(end_ns, before.at_ns + options_.interval.count()));
      BLKSWEEP_TRY(Moment now, moment());
      display_->show(interval_of(before, now));
      before = std::move(now);
    }
    return {};
  }

  // A screen of another size is drawn again at once, with what it showed.
  void wait_until(std::int64_t when_ns) {
    display_->wait_until(when_ns);
    while (!display_->ended() && now_ns() < when_ns) {
      display_->draw();
      display_->wait_until(when_ns);
    }
  }

  SeenInterval interval_of(const Moment& before, const Moment& now) const {
    SeenInterval i{.begin_ns = begin_ns_,
                   .from_ns = before.at_ns,
                   .to_ns = now.at_ns,
                   .counts = between(before.counts, now.counts),
                   .total = now.counts,
                   .stat = std::nullopt,
                   .traffic = std::nullopt,
                   .view_ns = now.cpu_ns - before.cpu_ns};
    if (before.stat && now.stat) {
      i.stat = *now.stat - *before.stat;
    }
    if (data_ != nullptr && options_.live) {
      i.traffic =
          traffic_of(*data_, probe_.issues_since(before.counts.logged, now.counts), i.counts);
    }
    return i;
  }

  // By address a read is of whoever has the address: the catalog must still be true.
  void compare_files(const FileTraffic& traffic, std::vector<std::string>& warnings) {
    const Result<std::string> moved = moved_meanwhile(*data_, traffic);
    std::string text = moved ? *moved
                             : "whether files still lie where they were could not be compared: " +
                                   moved.error().message();
    addresses_true_ = text.empty();
    if (!text.empty()) {
      warnings.push_back(std::move(text));
    }
  }

  // Ctrl-C is how an open-ended view ends, but it cuts short one of given length.
  Exit exit_of(const ProbeReport& report) const {
    if (options_.seconds != 0 && display_->broken_off()) {
      return Exit::interrupted;
    }
    const bool wrong =
        report.lost_events > 0 || report.stat_difference.value_or(0) > 0.01 || !addresses_true_;
    return wrong ? Exit::incomplete : Exit::done;
  }

  const ProbeOptions& options_;
  const BlockDevice& device_;
  BlockProbe& probe_;
  const WatchedData* data_;
  std::unique_ptr<Display> display_;
  std::int64_t begin_ns_ = 0;
  bool addresses_true_ = true;
};

Result<Exit> probe_device(const ProbeOptions& options) {
  BLKSWEEP_TRY(const BlockDevice device, device_of_argument(options.device));
  if (device.dev != device.whole_disk) {
    note(fmt::format("{} is a partition: showing the whole disk {}", device.node, device.disk));
  }
  std::unique_ptr<WatchedData> data;
  if (!options.data.empty()) {
    BLKSWEEP_TRY(data, watched_data(options.data, device));
  }
  BLKSWEEP_TRY(
      const std::unique_ptr<BlockProbe> probe,
      open_block_probe(device.whole_disk, {.origins = data != nullptr, .cost = options.live}));
  install_stop_signals();
  return Watch(options, device, *probe, data.get()).run();
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
  add_parsed(app, "--interval", options->interval, parse_interval,
             "how long each line or screen is of (default 1s)");
  app.add_option("--catalog", options->data, "FILE or folder of a data set: what reads were for");
  app.add_flag("--live", options->live,
               "one screen, drawn anew; lines where stdout is no terminal");
  app.add_flag("--json", options->json,
               "one JSON document at the end; with --live a line an interval");
  app.footer(kProbeExamples);
  app.callback([&verbs, options] { verbs.action = [options] { return probe_device(*options); }; });
}

}  // namespace blksweep
