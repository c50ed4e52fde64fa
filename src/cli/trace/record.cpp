// blksweep trace record: requests of a disk, or reads of a command.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "base/log.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/device_argument.h"
#include "cli/verb.h"
#include "os/file/kept_files.h"
#include "os/process/signals.h"
#include "record/record.h"
#include "trace/trace_facts.h"

namespace blksweep {
namespace {

constexpr const char* kRecordFooter =
    R"(--device: until --seconds are over, or Ctrl-C. --files: until COMMAND ends;
exits as it does. Names are below --data, else below /. Needs root.

examples:
  blksweep trace record --device vda --seconds 10 -o vda.trace
  blksweep trace record --files --data set/ -o epoch.trace -- python3 train.py
  blksweep trace record --files -o scan.trace -- sqlite3 my.db .dump)";

struct RecordOptions {
  std::string device, data, output;
  std::vector<std::string> swallowed;
  std::uint64_t seconds = 0;
  Bytes ring{std::uint64_t{64} << 20};
  bool files = false;
};

Result<Bytes> parse_ring(std::string_view text) {
  BLKSWEEP_TRY(const Bytes ring, parse_bytes(text));
  if (ring.n < 4096 || ring.n > (std::uint64_t{1} << 31) || !std::has_single_bit(ring.n)) {
    return usage_error(fmt::format("'{}': a power of two, 4KiB to 2GiB", text));
  }
  return ring;
}

Result<std::uint64_t> parse_record_seconds(std::string_view text) {
  Result<std::uint64_t> seconds = parse_count(text);
  if (seconds && (*seconds == 0 || *seconds > 1'000'000)) {
    return usage_error(fmt::format("'{}' is out of range: give 1 to 1000000", text));
  }
  return seconds;
}

// On stderr: stdout is the command's.
void tell_recorded(const RecordOptions& o, const RecordReport& r) {
  for (const std::string& defect : defects_of(r.facts)) {
    warn(fmt::format("{}: {}", o.output, defect));
  }
  note(fmt::format("{}: {} {} of {} {}", o.output, format_count(r.records),
                   o.files ? "reads" : "requests", format_count(r.places),
                   o.files ? "files" : "disk"));
}

Result<Exit> record_disk(const RecordOptions& o) {
  BLKSWEEP_TRY(const BlockDevice device, device_of_argument(o.device));
  if (device.dev != device.whole_disk) {
    note(fmt::format("{} is a partition: recording the whole disk {}", device.node, device.disk));
  }
  install_stop_signals();
  BLKSWEEP_TRY(const RecordReport report, record_device({.device = device,
                                                         .output = o.output,
                                                         .time = std::chrono::seconds(o.seconds),
                                                         .ring = o.ring},
                                                        stop_requested()));
  tell_recorded(o, report);
  return report.facts.lost > 0 ? Exit::incomplete : Exit::done;
}

Result<Exit> record_command(const RecordOptions& o, std::vector<std::string> command) {
  const HeldSignals signals;
  BLKSWEEP_TRY(
      const RecordReport report,
      record_files(
          {.command = std::move(command), .output = o.output, .data = o.data, .ring = o.ring},
          signals));
  tell_recorded(o, report);
  return static_cast<Exit>(report.status);
}

Result<Exit> run_record(const RecordOptions& o, const std::vector<std::string>& argv) {
  const auto dashes = std::ranges::find(argv, "--");
  const bool command = dashes != argv.end() && std::next(dashes) != argv.end();
  if (o.files == !o.device.empty()) {
    return usage_error("trace record: say what to record: --device DEV, or --files -- COMMAND");
  }
  if (o.files && !command) {
    return usage_error("trace record --files: say what to run, after --");
  }
  if (!o.files && (command || !o.swallowed.empty() || !o.data.empty())) {
    return usage_error("trace record --device: a command and --data go with --files");
  }
  if (o.files && o.seconds != 0) {
    return usage_error("trace record --files: ends with the command; --seconds is for --device");
  }
  BLKSWEEP_CHECK(check_kept("-o", o.output, {.folder = o.data}));
  return o.files ? record_command(o, {std::next(dashes), argv.end()}) : record_disk(o);
}

}  // namespace

void add_trace_record(Verbs& verbs, Command trace) {
  Command app = trace.add_subcommand("record", "requests of a disk, or file reads of a command");
  auto o = std::make_shared<RecordOptions>();
  app.add_option("--device", o->device, "vda, /dev/vda, or a path: the disk beneath it");
  add_parsed(app, "--seconds", o->seconds, parse_record_seconds,
             "how long (--device; default: until Ctrl-C)");
  app.add_flag("--files", o->files, "reads of the command after --, and of all that it starts");
  app.add_option("--data", o->data, "only files below this folder (--files)");
  app.add_option("-o,--output", o->output, "the trace file to write").required();
  add_parsed(app, "--buffer", o->ring, parse_ring, "of the kernel's ring of events (64MiB)");
  app.add_option("command", o->swallowed, "after --: what to run, with its arguments");
  app.footer(kRecordFooter);
  app.callback([&verbs, o] { verbs.action = [&verbs, o] { return run_record(*o, verbs.argv); }; });
}

}  // namespace blksweep
