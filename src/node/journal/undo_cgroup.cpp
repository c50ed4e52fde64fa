#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/clock.h"
#include "node/journal/undo.h"
#include "node/setting.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPatienceNs = 5'000'000'000;

// The group and those below it, the deepest first. One that vanishes meanwhile ends the walk (and
// would throw in a loop over the range): what is left is seen at the next try.
std::vector<std::string> groups_of(const std::string& path) {
  std::vector<std::string> groups;
  std::error_code ec;
  std::error_code gone;
  for (auto at = fs::recursive_directory_iterator(path, ec);
       !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    if (at->is_directory(gone) && !at->is_symlink(gone)) {
      groups.push_back(at->path().string());
    }
  }
  std::ranges::sort(groups, std::greater(),
                    [](const std::string& g) { return std::pair(std::ranges::count(g, '/'), g); });
  groups.push_back(path);
  return groups;
}

std::vector<pid_t> processes_of(const std::string& group) {
  std::istringstream in(whole_text(group + "/cgroup.procs"));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; in >> pid;) {
    pids.push_back(pid);
  }
  return pids;
}

bool holds_this_process(const std::vector<std::string>& groups) {
  return std::ranges::any_of(groups, [](const std::string& group) {
    const std::vector<pid_t> pids = processes_of(group);
    return std::ranges::find(pids, ::getpid()) != pids.end();
  });
}

// v2 ends the whole tree at once, those that are being born included; v1 one by one. A pid that was
// given out again between reading and signal would have to be given out within microseconds: the
// kernel hands pids out in turn.
void end_processes(const std::vector<std::string>& groups) {
  if (write_setting(groups.back() + "/cgroup.kill", "1")) {
    return;
  }
  for (const std::string& group : groups) {
    for (const pid_t pid : processes_of(group)) {
      if (pid > 1 && pid != ::getpid()) {
        ::kill(pid, SIGKILL);
      }
    }
  }
}

// 0 or the errno of the first group that stays.
int remove_groups(const std::vector<std::string>& groups) {
  for (const std::string& group : groups) {
    if (::rmdir(group.c_str()) != 0 && errno != ENOENT) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

bool holds_this_process(const std::string& cgroup) { return holds_this_process(groups_of(cgroup)); }

Result<> remove_cgroup(const std::string& path) {
  const std::int64_t until = now_ns() + kPatienceNs;
  for (;;) {
    const std::vector<std::string> groups = groups_of(path);
    if (holds_this_process(groups)) {
      return fail(path + " holds this very process: move it out first");
    }
    const int error = remove_groups(groups);
    if (error == 0) {
      return {};
    }
    if (error != EBUSY || now_ns() > until) {
      return sys_error(error, "remove the cgroup " + path);
    }
    end_processes(groups);
    const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace blksweep
