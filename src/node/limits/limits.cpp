#include "node/limits/limits.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/log.h"
#include "node/setting.h"
#include "os/block/setting_watch.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

// 0 or what the kernel said.
int write_errno(const std::string& file, const std::string& text) {
  const Result<> written = write_setting(file, text);
  if (written) {
    return 0;
  }
  return written.error().sys_errno != 0 ? written.error().sys_errno : EIO;
}

tl::unexpected<Error> refused(const std::string& what, int error) {
  const bool rights = error == EACCES || error == EPERM || error == EROFS;
  const std::string cause = what + ": " + std::strerror(error);
  return rights ? unsupported(cause + "; cgroups are changed as root, on a writable cgroup mount")
                : fail(cause);
}

// A process may make several, one after the other: "blksweep-12", "blksweep-12-2".
std::string next_name() {
  static std::atomic<unsigned> count{0};
  const unsigned n = ++count;
  return fmt::format("blksweep-{}{}", ::getpid(), n == 1 ? "" : "-" + std::to_string(n));
}

// A controller that another process has switched on goes off with that process, and with it limits
// of ours below: its loan is refused to us then, by the holder's pid. Of a dead one it is taken
// back.
Result<> nobody_lends(const ControllerStep& step, const std::string& key, Borrowing& borrowing) {
  BLKSWEEP_CHECK(borrowing.add({.key = key, .what = "controller " + step.name}));
  return borrowing.take_back();
}

Result<> switch_on(const ControllerStep& step, Borrowing& borrowing) {
  const std::string key = "cgroup" + step.file + "/" + step.name;
  if (step.on) {
    BLKSWEEP_CHECK(nobody_lends(step, key, borrowing));
    if (shares_out(step.file, step.name)) {
      return {};
    }
  }
  BLKSWEEP_CHECK(borrowing.add({.kind = LoanKind::controllers,
                                .key = key,
                                .what = "controller " + step.name + " in " + step.file,
                                .path = step.file,
                                .text = "-" + step.name}));
  const int error = write_errno(step.file, "+" + step.name);
  if (error == EBUSY) {
    return unsupported(fmt::format(
        "switch on {} in {}: the group holds processes itself, which cgroup v2 forbids then; start "
        "blksweep in a group of its own (systemd-run --scope blksweep ...)",
        step.name, step.file));
  }
  if (error != 0) {
    return refused("switch on " + step.name + " in " + step.file, error);
  }
  return {};
}

// Before the loan: what is there already is not ours to be removed with its processes, unless it is
// an empty one of an earlier process with our pid, whose journal was lost.
Result<> make_room(const std::string& folder) {
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) {
    return sys_error(errno, "remove the cgroup " + folder +
                                ", which an earlier process or one in a container left there");
  }
  return {};
}

Result<> make_group(const LimitGroup& group, Borrowing& borrowing) {
  BLKSWEEP_CHECK(make_room(group.folder));
  BLKSWEEP_CHECK(borrowing.add({.kind = LoanKind::cgroup,
                                .key = "cgroup" + group.folder,
                                .what = "cgroup " + group.folder,
                                .path = group.folder,
                                .text = group.origin}));
  if (::mkdir(group.folder.c_str(), 0755) != 0) {
    return refused("make cgroup " + group.folder, errno);
  }
  return {};
}

Result<AskedGot> set_value(const LimitValue& value) {
  if (const int error = write_errno(value.file, value.text); error != 0) {
    const std::string what = fmt::format("write '{}' into {}", value.text, value.file);
    if (error == ENOENT) {
      return unsupported(what + ": the kernel was built without this limit; leave it out");
    }
    if (error == ENODEV) {
      return unsupported(what +
                         ": the kernel cannot limit this device; name the disk that holds it");
    }
    return refused(what, error);
  }
  AskedGot got{value.name, value.asked, read_back(value), {}};
  if (got.got.empty()) {
    return fail(fmt::format("write '{}' into {}: the kernel took it but does not show it",
                            value.text, value.file));
  }
  return got;
}

Result<> move_to(const std::string& group) {
  const std::string file = group + "/cgroup.procs";
  if (const int error = write_errno(file, std::to_string(::getpid())); error != 0) {
    return refused("move process " + std::to_string(::getpid()) + " into " + group, error);
  }
  return {};
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() ? std::optional(n) : std::nullopt;
}

// The number after `key` in a file of lines "key number".
std::optional<std::uint64_t> number_of(const std::string& key, const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + " ")) {
      return number(line.substr(key.size() + 1));
    }
  }
  return std::nullopt;
}

std::uint64_t cache_bytes(const LimitGroup& group) {
  return number_of(group.version == 1 ? "cache" : "file", group.folder + "/memory.stat")
      .value_or(0);
}

}  // namespace

struct RunCgroup::State {
  LimitPlan plan;
  SettingWatch watch;
  bool inside = false;
  std::uint64_t cache_peak_bytes = 0;

  const LimitGroup* memory_group() const {
    const auto found = std::ranges::find(plan.groups, true, &LimitGroup::memory);
    return found == plan.groups.end() ? nullptr : &*found;
  }
};

RunCgroup::RunCgroup() : state_(std::make_unique<State>()) {}
RunCgroup::RunCgroup(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunCgroup::RunCgroup(RunCgroup&&) noexcept = default;

RunCgroup::~RunCgroup() {
  if (state_ == nullptr) {
    return;
  }
  if (const Result<> left = leave(); !left) {
    warn(left.error().message() + "; the process stays in its limits");
  }
}

Result<RunCgroup> RunCgroup::create(const LimitWish& wish, Borrowing& borrowing) {
  auto state = std::make_unique<State>();
  if (!wish.any()) {
    return RunCgroup(std::move(state));
  }
  BLKSWEEP_TRY(state->plan, plan_limits(wish, next_name()));
  for (const ControllerStep& step : state->plan.controllers) {
    BLKSWEEP_CHECK(switch_on(step, borrowing));
  }
  for (const LimitGroup& group : state->plan.groups) {
    BLKSWEEP_CHECK(make_group(group, borrowing));
  }
  RunCgroup made(std::move(state));
  for (const LimitValue& value : made.state_->plan.values) {
    BLKSWEEP_TRY(AskedGot got, set_value(value));
    made.got_.push_back(std::move(got));
  }
  for (const LimitGroup& group : made.state_->plan.groups) {
    made.state_->watch.add_group(group.folder);
  }
  return made;
}

Result<> RunCgroup::enter() {
  for (const LimitGroup& group : state_->plan.groups) {
    state_->inside = true;  // maybe in some only: leave() tries all
    BLKSWEEP_CHECK(move_to(group.folder));
  }
  return {};
}

Result<> RunCgroup::leave() {
  if (!state_->inside) {
    return {};
  }
  Result<> first;
  for (const LimitGroup& group : state_->plan.groups) {
    if (Result<> moved = move_to(group.origin); !moved && first) {
      first = std::move(moved);
    }
  }
  state_->inside = !first;
  return first;
}

Result<> RunCgroup::still_set() const {
  for (std::size_t i = 0; i < got_.size(); ++i) {
    const LimitValue& value = state_->plan.values[i];
    if (const std::string now = read_back(value); now != got_[i].got) {
      return fail(
          fmt::format("{} in {}: was {}, is {} at the end; the run was not limited as asked",
                      value.name, value.file, got_[i].got, now.empty() ? "gone" : now));
    }
  }
  const std::string written = state_->watch.written();
  return written.empty() ? Result<>() : fail(written);
}

void RunCgroup::sample() {
  if (const LimitGroup* group = state_->memory_group()) {
    state_->cache_peak_bytes = std::max(state_->cache_peak_bytes, cache_bytes(*group));
  }
}

CgroupUse RunCgroup::use() const {
  CgroupUse use;
  const LimitGroup* group = state_->memory_group();
  if (group == nullptr) {
    return use;
  }
  const std::string& folder = group->folder;
  use.cache_bytes = cache_bytes(*group);
  use.cache_peak_bytes = std::max(state_->cache_peak_bytes, use.cache_bytes);
  if (group->version == 1) {
    use.memory_peak_bytes = number(first_line(folder + "/memory.max_usage_in_bytes"));
    use.limit_hits = number(first_line(folder + "/memory.failcnt"));
    use.killed = number_of("oom_kill", folder + "/memory.oom_control").value_or(0) > 0;
  } else {
    use.memory_peak_bytes = number(first_line(folder + "/memory.peak"));
    use.limit_hits = number_of("max", folder + "/memory.events");
    use.killed = number_of("oom_kill", folder + "/memory.events").value_or(0) > 0;
  }
  return use;
}

}  // namespace blksweep
