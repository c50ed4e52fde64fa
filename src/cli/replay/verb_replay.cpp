// blksweep replay: a trace issued again, with a certificate.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/replay/replay_answer.h"
#include "cli/replay/replay_conditions.h"
#include "cli/replay/replay_key.h"
#include "cli/replay/replay_row.h"
#include "cli/replay/replay_timeline.h"
#include "cli/status_line.h"
#include "cli/turn.h"
#include "cli/verb.h"
#include "node/cache/drop.h"
#include "node/limits/descriptor_room.h"
#include "os/file/file.h"
#include "os/file/kept_files.h"
#include "os/process/signals.h"
#include "replay/replay.h"
#include "store/export/trace_events.h"
#include "store/result_store.h"

namespace blksweep {
namespace {

constexpr const char* kReplayFooter =
    R"(Only reads are issued; writes are left out and counted, unless --writes names
the device once more: what is on it is then lost. It must hold no filesystem and
no partition table, and nobody may use it. Discards and flushes are left out.
Caches are dropped before a replay of files, unless --cache keep.
With --db the same command goes on where it was cut off. Exit 3: unfaithful.

examples:
  blksweep replay src1.trace --device /dev/loop0 --addresses scale
  blksweep replay loader.trace --data imagenet/ --timing dependent
  blksweep replay loader.trace --data imagenet/ --timing asap --depth 64 --json)";

struct ReplayOptions {
  std::string trace, cache, db, timeline;
  ReplaySettings settings;
  unsigned repeats = 1;
  bool json = false;
};

Result<double> parse_speed(std::string_view text) {
  double speed = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, speed);
  if (ec != std::errc{} || rest != end || !(speed >= 1e-6 && speed <= 1e6)) {
    return usage_error(fmt::format("'{}' is no speed: a number such as 2 or 0.5", text));
  }
  return speed;
}

Result<unsigned> parse_replay_depth(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t depth, parse_count(text));
  if (depth == 0 || depth > 4096) {
    return usage_error(fmt::format("'{}' is out of range: give 1 to 4096", text));
  }
  return static_cast<unsigned>(depth);
}

Result<std::int64_t> parse_spin(std::string_view text) {
  BLKSWEEP_TRY(const Nanos spin, parse_duration(text));
  return spin.count();
}

Result<unsigned> parse_replay_repeats(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t repeats, parse_count(text));
  if (repeats == 0 || repeats > 10000) {
    return usage_error(fmt::format("'{}' is out of range: give 1 to 10000", text));
  }
  return static_cast<unsigned>(repeats);
}

// What would be without effect, and stand among the settings of the result.
Result<> check_effects(const ReplaySettings& s) {
  if (!s.device.empty() && !s.folder.empty()) {
    return usage_error("--device and --data: a trace is of one of both: leave the other out");
  }
  if (!s.device.empty() && s.buffered) {
    return usage_error("--buffered: a device is always read directly: leave it out");
  }
  if (s.timing == Timing::asap && s.speed != 1) {
    return usage_error("--speed: with --timing asap no request waits for its time: leave it out");
  }
  return {};
}

Result<bool> drops_caches(const ReplayOptions& o) {
  if (o.cache != "cold" && o.cache != "keep" && !o.cache.empty()) {
    return usage_error(fmt::format("--cache {}: cold or keep", o.cache));
  }
  return o.cache.empty() ? !o.settings.folder.empty() : o.cache == "cold";
}

// Which a command that is refused must not leave behind.
bool makes_a_file(const ReplayOptions& o) {
  std::error_code none;
  return !o.timeline.empty() || (!o.db.empty() && !std::filesystem::exists(o.db, none));
}

// Before anything is issued: a database that cannot be written is an error alone.
Result<std::optional<ResultStore>> open_store(const std::string& db) {
  if (db.empty()) {
    return std::optional<ResultStore>();
  }
  BLKSWEEP_TRY(ResultStore store, ResultStore::open(db));
  BLKSWEEP_CHECK(wait_for_turn(store, db));
  return std::optional(std::move(store));
}

// With a line of its progress.
Result<ReplayReport> replay_once(TraceReader& trace, const TraceSurvey& found,
                                 ReplaySettings settings) {
  std::atomic<std::uint64_t> completed{0};
  settings.progress = &completed;
  const std::jthread line([&](const std::stop_token& done) {
    repeat_line(done, [&] {
      return fmt::format("{} of {} requests", format_count(completed.load()),
                         format_count(found.requests));
    });
  });
  trace.rewind();
  return replay(trace, found, settings, stop_requested());
}

// A figure of two conditions is of neither, whatever its times were.
void mark_changed(ReplayReport& report, const std::string& changed) {
  if (!changed.empty()) {
    report.certificate.verdict = Verdict::unfaithful;
    report.certificate.reasons.push_back(
        with_way(changed, "leave it as it is meanwhile, and replay it again"));
  }
}

// Those that are not there yet.
Result<> carry_out(const ReplayOptions& o, TraceReader& trace, const TraceSurvey& found,
                   ReplayOrigin origin, bool drops, std::optional<ResultStore>& store,
                   ReplayAnswer& answer) {
  auto conditions = ReplayConditions::now(found.names, o.settings);
  while (answer.complete() < o.repeats && !stop_requested()) {
    if (drops) {
      BLKSWEEP_CHECK(drop_node(DropKind::pages));
    }
    origin.started_unix_ns = unix_ns();
    BLKSWEEP_TRY(ReplayReport report, replay_once(trace, found, o.settings));
    const std::string changed = conditions.changed();
    mark_changed(report, changed);
    const ReplayRow row = replay_row(origin, o.settings, report);
    std::int64_t id = 0;
    if (store) {
      BLKSWEEP_TRY(id, store->add_replay(row));
    }
    if (!o.timeline.empty()) {
      BLKSWEEP_CHECK(write_file(o.timeline, replay_timeline(report, row, trace.names())));
      note(fmt::format("timeline: {} of {} requests: open {} at ui.perfetto.dev",
                       format_count(report.timeline.size()), format_count(report.requests),
                       o.timeline));
    }
    answer.add(report, {id, row});
    if (report.certificate.failed > 0) {
      return {};  // the next one would fail as well
    }
    if (!changed.empty() && answer.complete() < o.repeats) {
      return fail(changed + " (what was measured is kept; the same command again begins anew)");
    }
  }
  return {};
}

Result<Exit> run_replay(const ReplayOptions& o, const std::vector<std::string>& argv) {
  BLKSWEEP_CHECK(check_effects(o.settings));
  BLKSWEEP_TRY(const bool drops, drops_caches(o));
  BLKSWEEP_CHECK(check_kept("--timeline", o.timeline,
                            {.files = {o.trace, o.db}, .folder = o.settings.folder}));
  BLKSWEEP_TRY(TraceReader trace, TraceReader::open(o.trace));
  install_stop_signals();
  raise_descriptor_limit();
  BLKSWEEP_TRY(const TraceSurvey found,
               survey(trace, !o.settings.writes.empty(), stop_requested()));
  if (makes_a_file(o)) {
    BLKSWEEP_CHECK(check_replay(trace, found, o.settings));
  }
  if (!o.timeline.empty()) {
    BLKSWEEP_CHECK(check_timeline_place(o.timeline));  // now, not after the replay
  }
  BLKSWEEP_TRY(std::optional<ResultStore> store, open_store(o.db));
  ReplayOrigin origin{o.trace, trace.facts().kind, 0, argv, ""};
  ReplayAnswer answer(o.trace, o.repeats);
  if (store) {
    BLKSWEEP_TRY(origin.key, replay_key(o.trace, found.names, o.settings, drops));
    BLKSWEEP_CHECK(answer.take_stored(o.db, origin.key));
  }
  const Result<> done = carry_out(o, trace, found, std::move(origin), drops, store, answer);
  if (done || !answer.empty()) {
    say_text(o.json ? answer.json() : answer.text());
  }
  BLKSWEEP_CHECK(done);
  return answer.exit();
}

}  // namespace

void add_replay(Verbs& verbs) {
  Command app =
      verbs.root.add_subcommand("replay", "replay a trace, and report how true the timing was");
  auto o = std::make_shared<ReplayOptions>();
  ReplaySettings& s = o->settings;
  app.add_option("TRACE", o->trace, "a file that trace import or record wrote").required();
  app.add_option("--device", s.device, "the block device to read (block traces)");
  app.add_option("--data", s.folder, "the folder with the trace's files (file traces)");
  add_parsed(app, "--timing", s.timing, parse_timing,
             "original: at the recorded times (default); asap;\n"
             "dependent: each thread after its think time");
  add_parsed(app, "--speed", s.speed, parse_speed,
             "times are divided by it (default 1); not of asap");
  add_parsed(app, "--depth", s.depth, parse_replay_depth,
             "most reads in flight (default: as the disk's queue)");
  add_parsed(app, "--addresses", s.addresses, parse_address_mode,
             "as-is (default), wrap, scale to the device, or stack volumes");
  app.add_option("--writes", s.writes, "the device once more: carry the writes out, too");
  app.add_flag("--buffered", s.buffered, "read files (--data) through the page cache");
  add_parsed(app, "--spin", s.spin_ns, parse_spin,
             "sleep only while nothing is due for longer (default 1ms)");
  app.add_flag("--awake", s.awake, "keep all CPUs out of idle states meanwhile");
  app.add_flag("--fio-twin", s.fio, "block traces at recorded times: then fio's replay");
  app.add_option("--cache", o->cache, "cold or keep (default: cold for files)");
  add_parsed(app, "--repeats", o->repeats, parse_replay_repeats,
             "replays of it, one after the other; default 1");
  app.add_option("--timeline", o->timeline, "write the last one's requests as lanes, for Perfetto");
  app.add_option("--db", o->db, "results database; what it has of them is not repeated");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kReplayFooter);
  app.callback([&verbs, o] {
    o->settings.timeline = o->timeline.empty() ? 0 : kTimelineRequests;
    verbs.action = [&verbs, o] { return run_replay(*o, verbs.argv); };
  });
}

}  // namespace blksweep
