// blksweep disk: emulated disks, a timing model under the real kernel.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "cli/answer.h"
#include "cli/model/models.h"
#include "cli/model/sheet.h"
#include "cli/verb.h"
#include "disk/daemon.h"
#include "disk/disk.h"
#include "disk/filesystem.h"
#include "disk/speedup.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr const char* kDiskExamples =
    R"(The device is a loop device whose file is served by a daemon, which answers each
request when the model says. Everything above is the real kernel. Needs root.

examples:
  blksweep disk start d7200 --model hdd-7200 --size 8GiB
  blksweep disk list
  blksweep disk stop d7200)";

constexpr const char* kStartExamples =
    R"(A backing file that is there already is used as it is, and never overwritten.
--speedup N lets the model's clock run N times as fast as the real one.

examples:
  blksweep disk start d7200 --model hdd-7200 --size 8GiB
  blksweep disk start d1 --model none --size 2GiB --fs ext4 --mount /mnt/d1
  blksweep disk start d2 --model sata-ssd --size 4GiB --backing d2.img --json)";

constexpr const char* kDiskSetExamples =
    R"(Requests that are inside start over in the new model. A data set is best made
with --model none, and then measured with another model.

examples:
  blksweep disk set d7200 --model hdd-7200
  blksweep disk set d7200 --model hdd-7200 --speedup 10
  blksweep disk set d7200 --model none)";

constexpr const char* kDiskListExamples = R"(examples:
  blksweep disk list
  blksweep disk list --json
  blksweep disk list --json | python3 -m json.tool)";

constexpr const char* kStopExamples =
    R"(Unmounts, detaches the loop device, ends the daemon. Refuses while something
uses the disk, or when its backing file was removed; --force goes on.

examples:
  blksweep disk stop d7200
  blksweep disk stop d7200 --force
  blksweep disk stop d7200 --quiet)";

constexpr const char* kStatsExamples =
    R"(lateness_ns is how much later than the model said replies were given: the
measure of whether the host kept up. Times of the model are virtual.

examples:
  blksweep disk stats d7200
  blksweep disk stats d7200 --json
  blksweep disk stats d7200 --json > stats.json)";

constexpr const char* kModelExamples =
    R"(Seek and rotation by analysis, reads per second at depths 1 to 64 by simulation;
no I/O is done and no root needed.

examples:
  blksweep disk model hdd-7200
  blksweep disk model sata-ssd --size 64GiB
  blksweep disk model hdd-7200 --json)";

struct DiskOptions {
  std::string name, model, backing = kMemoryBacking, filesystem, mount;
  std::optional<Bytes> size;
  std::optional<double> speedup;
  bool json = false, force = false;
};

Result<std::optional<double>> some_speedup(std::string_view text) {
  BLKSWEEP_TRY(const double n, parse_speedup(text));
  return std::optional(n);
}

Result<std::optional<Bytes>> parse_size(std::string_view text) {
  BLKSWEEP_TRY(const Bytes size, parse_bytes(text));
  return std::optional(size);
}
const char* health_text(DiskHealth health) {
  switch (health) {
    case DiskHealth::running:
      return "running";
    case DiskHealth::stopped:
      return "held";
    case DiskHealth::dead:
      return "dead";
  }
  return "";
}

Json state_json(const DiskState& s) {
  return {{"name", s.name},
          {"device", or_null(s.device)},
          {"mount", or_null(s.mount)},
          {"filesystem", or_null(s.filesystem)},
          {"model", s.model},
          {"speedup", s.speedup},
          {"size_bytes", s.size},
          {"backing", s.backing},
          {"path_ns", s.path_ns}};
}

Result<> check_filesystem(const DiskOptions& o) {
  if (o.filesystem.empty() != o.mount.empty()) {
    return usage_error("--fs and --mount go together: which filesystem, mounted where?");
  }
  if (!o.filesystem.empty() && !is_known_filesystem(o.filesystem)) {
    return usage_error(fmt::format("--fs '{}': give ext4, xfs or btrfs", o.filesystem));
  }
  return {};
}

Result<Exit> start(const DiskOptions& o) {
  BLKSWEEP_CHECK(check_disk_name(o.name));
  BLKSWEEP_CHECK(check_filesystem(o));
  BLKSWEEP_TRY(ModelSpec model, model_by_name(o.model));
  install_stop_signals();
  DiskWish wish{.name = o.name,
                .model = std::move(model),
                .speedup = o.speedup.value_or(1),
                .size = o.size,
                .backing = o.backing,
                .filesystem = o.filesystem,
                .mount = o.mount};
  BLKSWEEP_TRY(const DiskState state, start_disk(Registry(), wish));
  if (o.json) {
    say_json(state_json(state));
  } else {
    say("{}: {}, {}, model {}{}\n", state.name, state.device, format_bytes(Bytes{state.size}),
        state.model, state.mount.empty() ? "" : ", mounted on " + state.mount);
  }
  return Exit::done;
}

Result<Exit> set(const DiskOptions& o) {
  DiskChange change;
  if (!o.model.empty()) {
    BLKSWEEP_TRY(change.model, model_by_name(o.model));
  }
  change.speedup = o.speedup;
  if (!change.model && !change.speedup) {
    return usage_error("say what to change: --model or --speedup");
  }
  BLKSWEEP_TRY(const DiskState state, set_disk(Registry(), o.name, change));
  note(fmt::format("{}: model {}, speed-up {}", state.name, state.model, state.speedup));
  return Exit::done;
}

struct Listed {
  DiskState state;
  DiskHealth health;
};

Result<std::vector<Listed>> listed() {
  const Registry registry;
  std::vector<Listed> out;
  for (const std::string& name : registry.names()) {
    auto state = registry.load(name);
    if (!state) {
      warn(state.error().message());
      continue;
    }
    if (const auto hint = rescue_hint(registry, *state)) {
      warn(fmt::format("disk {}: {}", name, *hint));
    }
    out.push_back({*std::move(state), health_of(registry, name)});
  }
  return out;
}

Result<Exit> list(const DiskOptions& o) {
  BLKSWEEP_TRY(const std::vector<Listed> disks, listed());
  Json all = Json::array();
  Table table;
  for (const char* title : {"disk", "state", "device", "model"}) {
    table.column(title, Table::Align::left);
  }
  table.column("speed-up");
  table.column("size");
  table.column("backing", Table::Align::left);
  table.column("mount", Table::Align::left);
  for (const Listed& d : disks) {
    Json j = state_json(d.state);
    j["state"] = health_text(d.health);
    all.push_back(std::move(j));
    table.row({d.state.name, health_text(d.health), d.state.device, d.state.model,
               fmt::format("{}", d.state.speedup), format_bytes(Bytes{d.state.size}),
               d.state.backing, d.state.mount});
  }
  if (o.json) {
    say_json({{"disks", all}});
  } else {
    say_text(table.text());
  }
  return Exit::done;
}

Result<Exit> stop(const DiskOptions& o) {
  BLKSWEEP_TRY(const DiskEnd end, stop_disk(Registry(), o.name, o.force));
  for (const std::string& warning : end.warnings) {
    warn(fmt::format("disk {}: {}", o.name, warning));
  }
  return Exit::done;
}

std::string spread_text(const Json& h) {
  const auto time = [&h](const char* key) {
    return h[key].is_number()
               ? format_duration(Nanos(static_cast<std::int64_t>(h[key].get<double>())))
               : std::string("-");
  };
  return fmt::format("mean {}  p50 {}  p90 {}  p99 {}  max {}", time("mean"), time("p50"),
                     time("p90"), time("p99"), time("max"));
}

Result<Exit> stats(const DiskOptions& o) {
  const Registry registry;
  BLKSWEEP_TRY(const DiskState state, registry.load(o.name));
  BLKSWEEP_TRY(const std::string text, disk_stats(registry, o.name));
  const Json j = parse_json(text);
  if (!j.is_object()) {
    return fail("disk " + o.name + ": the daemon's stats are no JSON");
  }
  if (const auto hint = rescue_hint(registry, state)) {
    warn(fmt::format("disk {}: {}", o.name, *hint));
  }
  if (o.json) {
    say_json(j);
    return Exit::done;
  }
  const auto count = [&j](const char* key) { return j[key].get<std::uint64_t>(); };
  say("{}: {}, model {}, speed-up {}\n", o.name, state.device, state.model, state.speedup);
  say("  read       {} requests, {}\n", format_count(count("reads")),
      format_bytes(Bytes{count("read_bytes")}));
  say("  written    {} requests, {}\n", format_count(count("writes")),
      format_bytes(Bytes{count("written_bytes")}));
  say("  depth      max {}\n", count("depth_max"));
  say("  latency    {}  (of the model)\n", spread_text(j["latency_ns"]));
  say("  lateness   {}  (of the replies)\n", spread_text(j["lateness_ns"]));
  say("  path       {} (loop and FUSE, taken off the model's time)\n",
      format_duration(Nanos(j["path_ns"].get<std::int64_t>())));
  say("  errors     {}{}\n", count("errors"),
      j["last_error"].is_string() ? ": " + j["last_error"].get<std::string>() : "");
  return Exit::done;
}

Result<Exit> show_model(const DiskOptions& o) {
  BLKSWEEP_TRY(const ModelSpec spec, model_by_name(o.model));
  SheetSettings settings;
  settings.size = o.size.value_or(settings.size);
  BLKSWEEP_TRY(const ModelSheet sheet, model_sheet(spec, settings));
  say_text(o.json ? json_text(sheet_json(sheet)) + "\n" : sheet_text(sheet));
  return Exit::done;
}

using DiskArguments = std::shared_ptr<DiskOptions>;

struct DiskVerb {
  const char* name;
  const char* help;
  const char* examples;
  Result<Exit> (*action)(const DiskOptions&);
};

Command add_disk_verb(Verbs& verbs, Command disk, const DiskVerb& verb, const DiskArguments& o) {
  Command app = disk.add_subcommand(verb.name, verb.help);
  app.footer(verb.examples);
  app.callback(
      [&verbs, o, action = verb.action] { verbs.action = [o, action] { return action(*o); }; });
  return app;
}

void add_name(Command app, const DiskArguments& o) {
  app.add_option("NAME", o->name, "name of the disk").required();
}
void add_json(Command app, const DiskArguments& o) {
  app.add_flag("--json", o->json, "one JSON document");
}
Option add_model(Command app, const DiskArguments& o) {
  return app.add_option("--model", o->model,
                        "none, a name (hdd-7200, sata-ssd, ...) or a TOML file");
}
void add_speedup(Command app, const DiskArguments& o) {
  add_parsed(app, "--speedup", o->speedup, some_speedup,
             "the model's clock against the real one (1)");
}

void add_start(Verbs& verbs, Command disk) {
  const auto o = std::make_shared<DiskOptions>();
  Command app =
      add_disk_verb(verbs, disk, {"start", "start an emulated disk", kStartExamples, start}, o);
  add_name(app, o);
  add_model(app, o).required();
  add_parsed(app, "--size", o->size, parse_size, "size of the disk (8GiB)");
  app.add_option("--backing", o->backing, "'memory' (default) or a file");
  add_speedup(app, o);
  app.add_option("--fs", o->filesystem, "ext4, xfs or btrfs: make it, mount it");
  app.add_option("--mount", o->mount, "folder to mount it on");
  add_json(app, o);
}

void add_others(Verbs& verbs, Command disk) {
  auto o = std::make_shared<DiskOptions>();
  Command app = add_disk_verb(
      verbs, disk, {"set", "change the timing of a running disk", kDiskSetExamples, set}, o);
  add_name(app, o);
  add_model(app, o);
  add_speedup(app, o);
  o = std::make_shared<DiskOptions>();
  add_json(add_disk_verb(verbs, disk, {"list", "the disks there are", kDiskListExamples, list}, o),
           o);
  o = std::make_shared<DiskOptions>();
  app = add_disk_verb(verbs, disk, {"stop", "take a disk away", kStopExamples, stop}, o);
  add_name(app, o);
  app.add_flag("--force", o->force, "also when it is in use or its backing file is gone");
  o = std::make_shared<DiskOptions>();
  app = add_disk_verb(verbs, disk, {"stats", "what a disk did", kStatsExamples, stats}, o);
  add_name(app, o);
  add_json(app, o);
}

void add_model_sheet(Verbs& verbs, Command disk) {
  const auto o = std::make_shared<DiskOptions>();
  Command app = add_disk_verb(
      verbs, disk, {"model", "what a model answers, without I/O", kModelExamples, show_model}, o);
  app.add_option("MODEL", o->model, "a name (hdd-7200, sata-ssd, ...) or a TOML file").required();
  add_parsed(app, "--size", o->size, parse_size, "size of the device (8GiB)");
  add_json(app, o);
}

// Not for users, and so in no help: what `disk start` runs.
void add_daemon(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("disk-daemon", "serves one emulated disk").hidden();
  const auto arguments = std::make_shared<DaemonArguments>();
  app.add_option("NAME", arguments->name, "of the disk").required();
  app.add_option("--ready-fd", arguments->ready_fd, "to say that it serves").required();
  app.callback([&verbs, arguments] {
    verbs.action = [arguments]() -> Result<Exit> {
      BLKSWEEP_CHECK(run_disk_daemon(Registry(), *arguments));
      return Exit::done;
    };
  });
}

}  // namespace

void add_disk(Verbs& verbs) {
  Command disk =
      verbs.root.add_subcommand("disk", "emulated disks: block devices with modelled timing");
  disk.require_subcommand();
  disk.footer(kDiskExamples);
  add_start(verbs, disk);
  add_others(verbs, disk);
  add_model_sheet(verbs, disk);
  add_daemon(verbs);
}

}  // namespace blksweep
