// blksweep node exec: any command under borrowed settings.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/log.h"
#include "cli/device_argument.h"
#include "cli/run/cell_options.h"
#include "cli/verb.h"
#include "experiment/run_node.h"
#include "node/limits/binding.h"
#include "node/limits/limits.h"
#include "node/queue.h"
#include "os/block/blockdev.h"
#include "os/process/foreground.h"

namespace blksweep {
namespace {

// "near", alone or of a role; "near-gpu" needs none.
bool near_a_disk(const std::string& bind) {
  constexpr std::string_view kNear = "near";
  for (std::size_t at = bind.find(kNear); at != std::string::npos; at = bind.find(kNear, at + 1)) {
    if (!bind.substr(at).starts_with("near-gpu")) {
      return true;
    }
  }
  return false;
}

constexpr const char* kNodeExecExamples =
    R"(Runs COMMAND with its terminal, input and output; exits as it does, with 128 + N
when signal N killed it, 127 when there is no such command. What was asked and
what the kernel then reads goes to stderr. Everything is as before when it has
ended, also after SIGINT, SIGTERM and SIGHUP, which are passed on; after SIGKILL
the command is dead and `blksweep node restore` gives the settings back.
Limits are of reads of the whole disk and of the memory of COMMAND with its page
cache. Needs root, but for --bind and --ioprio.

examples:
  blksweep node exec --memory-limit 64MiB -- cat /etc/hostname
  blksweep node exec --device /data --bandwidth-limit 100MB/s -- fio job.fio
  blksweep node exec --bind cpu:0 --ioprio be:0 -- fio job.fio)";

struct ExecOptions {
  std::string device;
  CellText text;                       // of the options that `run` has, too
  std::vector<std::string> swallowed;  // the words after --, which are taken from argv as they are
};

// What a command can have of what `run` may ask of the node: pins are those of `cache pin`.
bool is_for_commands(const CellOption& option) { return !option.name.starts_with("pin-"); }

Result<NodeWish> wish_of(const ExecOptions& options) {
  BLKSWEEP_TRY(const std::vector<CellSettings> cells, expand_cells(options.text));
  if (cells.size() != 1) {
    return usage_error("node exec: a command runs once: give one value per option, no commas");
  }
  return cells.front().node;
}

Result<BlockDevice> wanted_device(const std::string& device, const NodeWish& wish) {
  if (!device.empty()) {
    return device_of_argument(device);
  }
  if (wish.changes_queue() || wish.limits_io() || near_a_disk(wish.bind)) {
    return usage_error(
        "node exec: --scheduler, --nr-requests, --read-ahead, --bandwidth-limit, --iops-limit and "
        "--bind near need --device: a disk, or a path on it");
  }
  return BlockDevice{};
}

void tell(const std::string& of, const std::vector<AskedGot>& settings) {
  for (const AskedGot& s : settings) {
    note(fmt::format("{}{}: asked {}, got {}{}", of.empty() ? "" : of + " ", s.name, s.asked, s.got,
                     s.before.empty() ? "" : ", before " + s.before));
  }
}

void tell_use(const RunCgroup& cgroup) {
  const CgroupUse use = cgroup.use();
  if (!use.memory_peak_bytes) {
    return;
  }
  note(
      fmt::format("memory of the command: at most {}, page cache seen up to {}, limit met {} times",
                  format_bytes({*use.memory_peak_bytes}), format_bytes({use.cache_peak_bytes}),
                  format_count(use.limit_hits.value_or(0))));
  if (use.killed) {
    warn(
        "the kernel's OOM killer ended processes of the command: the memory limit is too small "
        "for it");
  }
}

// In the new process: what it inherits is all that is set.
Result<> prepare(const NodeWish& wish, const Binding& binding, RunCgroup& cgroup) {
  BLKSWEEP_TRY(const std::string cpus, binding.bind(Role::reader));
  if (!cpus.empty()) {
    note(fmt::format("CPUs: asked {}, got {}", wish.bind, cpus));
  }
  if (wish.io_priority) {
    BLKSWEEP_TRY(const IoPriority got, set_io_priority(*wish.io_priority));
    note(fmt::format("I/O priority: asked {}, got {}", to_string(*wish.io_priority),
                     to_string(got)));
  }
  return cgroup.enter();
}

void warn_of_no_effect(const NodeWish& wish, const BlockDevice& device) {
  const std::string scheduler = device.disk.empty() ? "" : scheduler_of(device.disk);
  if (wish.io_priority && !scheduler.empty() && !heeds_io_priority(scheduler)) {
    warn(
        fmt::format("{} has the scheduler {}, which does not look at I/O priorities: --ioprio "
                    "changes nothing (mq-deadline and bfq do)",
                    device.disk, scheduler));
  }
}

Result<Exit> run_borrowed(const NodeWish& wish, const BlockDevice& device,
                          const std::vector<std::string>& command) {
  BLKSWEEP_TRY(const Binding binding, Binding::parse(wish.bind, device.disk));
  if (binding.has_roles()) {
    return usage_error("--bind " + wish.bind + ": a command has no roles; give one place");
  }
  const HeldSignals signals;  // before anything is borrowed, until all is given back
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin());
  if (wish.changes_queue()) {
    BLKSWEEP_TRY(const std::vector<AskedGot> got,
                 set_queue(device.disk, queue_wish(wish), borrowing));
    tell(device.disk, got);
  }
  BLKSWEEP_TRY(RunCgroup cgroup, RunCgroup::create(limit_wish(wish, device.whole_disk), borrowing));
  tell("", cgroup.limits());
  warn_of_no_effect(wish, device);
  BLKSWEEP_TRY(const int status,
               run_in_foreground({.argv = command,
                                  .prepare = [&] { return prepare(wish, binding, cgroup); },
                                  .tick = [&] { cgroup.sample(); }},
                                 signals));
  tell_use(cgroup);
  const Result<> limited = cgroup.still_set();
  const Result<> restored = borrowing.restore();
  for (const Result<>* end : {&limited, &restored}) {
    if (!*end && status != 0) {
      warn(end->error().message());  // the exit status is the command's
    } else if (!*end) {
      return tl::unexpected(end->error());
    }
  }
  return static_cast<Exit>(status);
}

Result<Exit> exec(const ExecOptions& options, const std::vector<std::string>& argv) {
  const auto dashes = std::ranges::find(argv, "--");
  if (dashes == argv.end() || std::next(dashes) == argv.end()) {
    return usage_error("node exec: say what to run, after --: blksweep node exec ... -- COMMAND");
  }
  BLKSWEEP_TRY(const NodeWish wish, wish_of(options));
  BLKSWEEP_TRY(const BlockDevice device, wanted_device(options.device, wish));
  return run_borrowed(wish, device, {std::next(dashes), argv.end()});
}

void add_options(Command app, ExecOptions& o) {
  app.add_option("--device", o.device, "a device, or a path on it");
  for (const CellOption& option : node_options()) {
    if (is_for_commands(option)) {
      add_cell_option(app, option, o.text);
    }
  }
  app.add_option("command", o.swallowed, "after --: what to run, with its arguments");
}

}  // namespace

void add_node_exec(Verbs& verbs, Command node) {
  Command app = node.add_subcommand("exec", "run a command under borrowed settings and limits");
  const auto options = std::make_shared<ExecOptions>();
  add_options(app, *options);
  app.footer(kNodeExecExamples);
  app.callback([&verbs, options] {
    verbs.action = [&verbs, options] { return exec(*options, verbs.argv); };
  });
}

}  // namespace blksweep
