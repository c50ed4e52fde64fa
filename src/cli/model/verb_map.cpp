// blksweep map DEV|FILE: latency by distance, size and depth, and what it says about the device.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/model/map_text.h"
#include "cli/run/cell_options.h"
#include "cli/status_line.h"
#include "cli/verb.h"
#include "cli/version.h"
#include "map/measure.h"
#include "model/map_facts.h"
#include "model/map_fit.h"
#include "os/file/file.h"
#include "os/file/kept_files.h"
#include "os/hostfacts.h"
#include "os/process/signals.h"
#include "store/result_store.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMapExamples =
    R"(Reads only, directly (O_DIRECT), for a bounded time. Root or group disk for a
device. docs/latency-map.md says how rotation, seeks and rates are found.

examples:
  blksweep map /dev/vda --seconds 30
  blksweep map /dev/vda --db maps.db --fit vda.toml
  blksweep map big.bin --parts size,depth --seconds 10 --json)";

struct MapOptions {
  std::string path, db, fit, parts = "distance,size,depth,zone,revisit,cached";
  double seconds = 60;
  std::uint64_t seed = 1;
  bool unwritten = false, poor_fit = false, json = false;
};

Result<double> parse_seconds(std::string_view text) {
  const Result<std::uint64_t> seconds = parse_count(text);
  if (!seconds) {
    return tl::unexpected(seconds.error());
  }
  if (*seconds == 0 || *seconds > 100'000) {
    return usage_error(fmt::format("'{}' is out of range: give 1 to 100000", text));
  }
  return static_cast<double>(*seconds);
}

Result<std::vector<MapPart>> parse_parts(const std::string& text) {
  std::vector<MapPart> parts;
  for (const std::string& word : split_list(text)) {
    const auto part = map_part(word);
    if (!part) {
      return usage_error(fmt::format(
          "--parts: '{}' is none of distance, size, depth, zone, revisit, cached", word));
    }
    parts.push_back(*part);
  }
  return parts;
}

MapRecord record_of(const MapReport& report, const MapOptions& options,
                    const std::vector<std::string>& argv) {
  MapRecord r;
  r.map = report.map;
  r.seconds = options.seconds;
  r.hostname = read_host_facts().hostname;
  r.tool_version = version();
  r.git_revision = git_revision();
  for (const std::string& word : argv) {
    r.argv += (r.argv.empty() ? "" : " ") + word;
  }
  r.warnings = report.warnings;
  r.path_ns = report.facts.path_ns;
  if (report.facts.rotation) {
    r.rotation_ns = report.facts.rotation->period_ns;
  }
  for (const SeekEstimate& s : report.facts.seeks) {
    r.curves.push_back({s.distance < 0 ? "seek_backward" : "seek_forward",
                        std::abs(static_cast<double>(s.distance)), s.ns});
  }
  for (const ZoneRate& z : report.facts.zones) {
    r.curves.push_back({"zone_rate", static_cast<double>(z.offset), z.bytes_per_s});
  }
  return r;
}

Result<> write_model(const std::string& path, const ModelSpec& spec) {
  return write_file(path, to_toml(spec));
}

// Before the minute of measuring, not after it.
Result<> check_fit_target(const std::string& path, const std::string& db) {
  if (!path.empty() && fs::exists(fs::path(path))) {
    return usage_error(
        fmt::format("--fit: {} exists and is not overwritten: name a new file or "
                    "remove it",
                    path));
  }
  return check_kept("--fit", path, {.files = {db}});
}

// A model that is far off would be believed by whoever simulates with it: refused, or marked.
Result<> keep_fit(MapFit& fit, const MapOptions& options) {
  const WorstCheck worst = worst_check(fit);
  const std::string off =
      fmt::format("the best model is {:.1f} times off at '{}'", worst.times_off, worst.what);
  if (worst.poor() && !options.poor_fit) {
    return fail(
        fmt::format("--fit: {}, so {} is not written: map an idle device for more "
                    "--seconds, or keep it marked with --poor-fit",
                    off, options.fit));
  }
  if (worst.poor()) {
    fit.spec.description = "POOR FIT, " + off + "; " + fit.spec.description;
    fit.notes.push_back("poor fit: " + off + "; the model's description says so");
  }
  return write_model(options.fit, fit.spec);
}

Exit exit_of(const MapReport& report) {
  if (report.map.interrupted) {
    return Exit::interrupted;
  }
  return report.fit && worst_check(*report.fit).poor() ? Exit::incomplete : Exit::done;
}

Result<Exit> finish(MapReport& report, const MapOptions& options,
                    const std::vector<std::string>& argv) {
  report.facts = map_facts(report.map);
  if (report.facts.tick_ns) {
    report.warnings.push_back(
        fmt::format("reads ended in step with the host's clock, every {}, wherever they were: the "
                    "host is busy, and latencies are its own: map while it is idle",
                    format_duration(Nanos(static_cast<std::int64_t>(*report.facts.tick_ns)))));
    warn(report.warnings.back());
  }
  if (!options.db.empty()) {
    BLKSWEEP_TRY(ResultStore store, ResultStore::open(options.db));
    BLKSWEEP_TRY(report.id, store.add_map(record_of(report, options, argv)));
  }
  Result<> fitted;
  if (!options.fit.empty() && !report.map.interrupted) {
    Result<MapFit> fit = fit_map(report.map, report.facts);
    if (fit) {
      report.fit = std::move(*fit);
      fitted = keep_fit(*report.fit, options);
    } else {
      fitted = tl::unexpected(std::move(fit).error());
    }
  }
  // The measurement is the answer even where no model came of it.
  say_text(options.json ? map_json(report) : map_text(report));
  flush_answer();
  BLKSWEEP_CHECK(std::move(fitted));
  return exit_of(report);
}

Result<Exit> map_device(const MapOptions& options, const std::vector<std::string>& argv) {
  MapSettings settings;
  BLKSWEEP_TRY(settings.parts, parse_parts(options.parts));
  BLKSWEEP_CHECK(check_fit_target(options.fit, options.db));
  StatusLine line(std::chrono::milliseconds(200), std::chrono::seconds(10));
  settings.path = options.path;
  settings.time = Nanos(static_cast<std::int64_t>(options.seconds * 1e9));
  settings.seed = options.seed;
  settings.unwritten = options.unwritten;
  settings.stop = &stop_requested();
  if (!options.db.empty()) {  // a database that cannot be opened is known before the measurement
    BLKSWEEP_CHECK(check_map(settings));  // and what is refused leaves none behind
    BLKSWEEP_TRY(const ResultStore store, ResultStore::open(options.db));
  }
  settings.on_progress = [&](MapPart part, std::int64_t used_ns) {
    if (line.due()) {
      line.show(fmt::format("mapping: {}, {:.0f} of {:.0f} s", to_string(part),
                            static_cast<double>(used_ns) / 1e9, options.seconds));
    }
  };
  install_stop_signals();
  Result<MeasuredMap> measured = measure_map(settings);
  line.clear();
  if (!measured) {
    return tl::unexpected(std::move(measured).error());
  }
  for (const std::string& text : measured->warnings) {
    warn(text);
  }
  MapReport report;
  report.map = std::move(measured->map);
  report.engine = std::move(measured->engine);
  report.warnings = std::move(measured->warnings);
  return finish(report, options, argv);
}

}  // namespace

void add_map(Verbs& verbs) {
  Command app =
      verbs.root.add_subcommand("map", "latency by LBA distance, size and depth of a device");
  const auto options = std::make_shared<MapOptions>();
  app.add_option("DEV|FILE", options->path, "block device, or a file on ext4, xfs or btrfs")
      .required();
  add_parsed(app, "--seconds", options->seconds, parse_seconds, "time to measure (60)");
  app.add_option("--parts", options->parts,
                 "some of distance,size,depth,zone,revisit,cached (all)");
  add_parsed(app, "--seed", options->seed, parse_count, "of the random places (1)");
  app.add_flag("--unwritten", options->unwritten, "read unwritten addresses, too");
  app.add_option("--db", options->db, "results database to add the map to");
  app.add_option("--fit", options->fit, "write a model of the device: a new TOML file");
  app.add_flag("--poor-fit", options->poor_fit, "write a model that is far off, too, marked");
  app.add_flag("--json", options->json, "one JSON document instead of the tables");
  app.footer(kMapExamples);
  app.callback([&verbs, options] {
    verbs.action = [options, argv = verbs.argv] { return map_device(*options, argv); };
  });
}

}  // namespace blksweep
