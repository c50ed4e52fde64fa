// blksweep node exec: any command under borrowed settings.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/log.h"
#include "cli/device_argument.h"
#include "cli/verb.h"
#include "node/binding.h"
#include "node/limits.h"
#include "node/queue.h"
#include "os/blockdev.h"
#include "os/foreground.h"

namespace blksweep {
namespace {

constexpr const char* kExamples =
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
  std::string device, scheduler, bind;
  std::optional<std::uint64_t> nr_requests, iops;
  std::optional<Bytes> read_ahead, memory, bandwidth;
  std::optional<IoPriority> priority;
  std::vector<std::string> swallowed;  // the words after --, which are taken from argv as they are

  bool queue() const { return !scheduler.empty() || nr_requests || read_ahead; }
  bool io_limit() const { return bandwidth || iops; }
};

Result<BlockDevice> wanted_device(const ExecOptions& options) {
  if (!options.device.empty()) {
    return device_of_argument(options.device);
  }
  if (options.queue() || options.io_limit() || options.bind.find("near") != std::string::npos) {
    return usage_error(
        "node exec: --scheduler, --nr-requests, --read-ahead, --bandwidth-limit, --iops-limit and "
        "--bind near need --device: a disk, or a path on it");
  }
  return BlockDevice{};
}

Result<QueueWish> queue_wish(const ExecOptions& options) {
  QueueWish wish;
  if (!options.scheduler.empty()) {
    wish.emplace_back("scheduler", options.scheduler);
  }
  if (options.nr_requests) {
    wish.emplace_back("nr_requests", std::to_string(*options.nr_requests));
  }
  if (options.read_ahead) {
    if (options.read_ahead->n % 1024 != 0) {
      return usage_error(
          fmt::format("--read-ahead {}: not a multiple of 1KiB, which the kernel counts in",
                      options.read_ahead->n));
    }
    wish.emplace_back("read_ahead_kb", std::to_string(options.read_ahead->n / 1024));
  }
  return wish;
}

LimitWish limit_wish(const ExecOptions& options, const BlockDevice& device) {
  LimitWish wish;
  wish.memory = options.memory;
  wish.read_iops = options.iops;
  if (options.bandwidth) {
    wish.read_bytes_per_s = options.bandwidth->n;
  }
  wish.disk = device.whole_disk;
  return wish;
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
Result<> prepare(const ExecOptions& options, const Binding& binding, RunCgroup& cgroup) {
  BLKSWEEP_TRY(const std::string cpus, binding.bind(Role::reader));
  if (!cpus.empty()) {
    note(fmt::format("CPUs: asked {}, got {}", options.bind, cpus));
  }
  if (options.priority) {
    BLKSWEEP_TRY(const IoPriority got, set_io_priority(*options.priority));
    note(fmt::format("I/O priority: asked {}, got {}", to_string(*options.priority),
                     to_string(got)));
  }
  return cgroup.enter();
}

void warn_of_no_effect(const ExecOptions& options, const BlockDevice& device) {
  const std::string scheduler = device.disk.empty() ? "" : scheduler_of(device.disk);
  if (options.priority && !scheduler.empty() && !heeds_io_priority(scheduler)) {
    warn(
        fmt::format("{} has the scheduler {}, which does not look at I/O priorities: --ioprio "
                    "changes nothing (mq-deadline and bfq do)",
                    device.disk, scheduler));
  }
}

Result<Exit> run_borrowed(const ExecOptions& options, const BlockDevice& device,
                          const std::vector<std::string>& command) {
  BLKSWEEP_TRY(const Binding binding, Binding::parse(options.bind, device.disk));
  if (binding.has_roles()) {
    return usage_error("--bind " + options.bind + ": a command has no roles; give one place");
  }
  BLKSWEEP_TRY(const QueueWish queue, queue_wish(options));
  const HeldSignals signals;  // before anything is borrowed, until all is given back
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin());
  if (!queue.empty()) {
    BLKSWEEP_TRY(const std::vector<AskedGot> got, set_queue(device.disk, queue, borrowing));
    tell(device.disk, got);
  }
  BLKSWEEP_TRY(RunCgroup cgroup, RunCgroup::create(limit_wish(options, device), borrowing));
  tell("", cgroup.limits());
  warn_of_no_effect(options, device);
  BLKSWEEP_TRY(const int status,
               run_in_foreground({.argv = command,
                                  .prepare = [&] { return prepare(options, binding, cgroup); },
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
  BLKSWEEP_TRY(const BlockDevice device, wanted_device(options));
  return run_borrowed(options, device, {std::next(dashes), argv.end()});
}

void add_options(CLI::App* app, ExecOptions& o) {
  app->add_option("--device", o.device, "a disk, or a path on it")->type_name("DEV|PATH");
  app->add_option("--scheduler", o.scheduler, "I/O scheduler")->type_name("NAME");
  add_parsed(app, "--nr-requests", o.nr_requests, parse_count, "requests in the queue");
  add_parsed(app, "--read-ahead", o.read_ahead, parse_bytes, "read-ahead: 128KiB");
  add_parsed(app, "--memory-limit", o.memory, parse_bytes, "memory and page cache: 64MiB");
  add_parsed(app, "--bandwidth-limit", o.bandwidth, parse_rate, "reads: 100MB/s");
  add_parsed(app, "--iops-limit", o.iops, parse_count, "reads per second, before merging");
  app->add_option("--bind", o.bind, "CPUs: near, all, node:0, cpu:0-3+6")->type_name("PLACE");
  add_parsed(app, "--ioprio", o.priority, parse_io_priority, "none, idle, be:0-7, rt:0-7");
  app->add_option("command", o.swallowed, "after --: what to run, with its arguments")
      ->type_name("");
}

}  // namespace

void add_node_exec(Verbs& verbs, CLI::App* node) {
  CLI::App* app = node->add_subcommand("exec", "run a command under borrowed settings and limits");
  const auto options = std::make_shared<ExecOptions>();
  add_options(app, *options);
  app->footer(kExamples);
  app->callback([&verbs, options] {
    verbs.action = [&verbs, options] { return exec(*options, verbs.argv); };
  });
}

}  // namespace blksweep
