#include "ranks/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "os/file/file.h"
#include "os/process/process_id.h"
#include "os/process/process_tree.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kTick{milliseconds(200)};
constexpr Nanos kBetweenSignals{milliseconds(500)};  // two signals; mpirun wants them within 5 s
constexpr Nanos kLast{milliseconds(1000)};

// A name that only one has, as long as a process holds it; it is no file.
Fd claim(const ProcessId& launcher) {
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("blksweep-{}-{}", launcher.pid, launcher.start_time);
  std::ranges::copy(name, address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    fd.reset();
  }
  return fd;
}

// Our own stderr goes through mpirun, which reads it no more.
void say(const ProcessId& launcher, Nanos quiet) {
  const Fd err(::open(fmt::format("/proc/{}/fd/2", launcher.pid).c_str(),
                      O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const std::string text = fmt::format(
      "blksweep-mpi: mpirun (process {}) has not ended in {} behind its last rank: ended\n",
      launcher.pid, format_duration(quiet));
  if (err) {
    (void)write_full(err.get(), std::as_bytes(std::span(text)), "stderr of mpirun");
  }
}

void end(const ProcessId& launcher) {
  for (const Nanos wait : {kBetweenSignals, kLast}) {
    ask_to_end(launcher);
    if (wait_for_end(launcher, wait)) {
      return;
    }
  }
  kill_now(launcher);
}

bool is_busy(const ProcessId& launcher) {
  const auto children = children_of(launcher.pid);
  return is_stopped(launcher) || !std::ranges::all_of(children, &ChildProcess::ended);
}

// In ticks: time in which this process did not run does not count.
void watch(const ProcessId& launcher, Nanos quiet) {
  for (Nanos passed{0}; !wait_for_end(launcher, kTick); passed += kTick) {
    if (is_busy(launcher)) {
      passed = Nanos{0};
    }
    if (passed >= quiet) {
      say(launcher, quiet);
      end(launcher);
      return;
    }
  }
}

// Pipes and links that stayed open here would not end for those at their other ends.
void let_go_of_all_but(int kept) {
  ::setsid();
  ::close_range(0, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

}  // namespace

bool is_launcher(pid_t pid) {
  std::error_code ec;
  const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), ec);
  const std::string name = program.filename().string();
  constexpr std::array<std::string_view, 3> kNames{"orterun", "mpirun", "prterun"};
  return std::ranges::find(kNames, name) != kNames.end();
}

void watch_launcher(pid_t parent, Nanos quiet) {
  const Result<ProcessId> launcher = id_of(parent);
  if (!launcher || ::getppid() != parent) {
    return;
  }
  const Fd mine = claim(*launcher);
  if (!mine || ::fork() != 0) {
    return;
  }
  let_go_of_all_but(mine.get());
  watch(*launcher, quiet);
  ::_exit(0);
}

}  // namespace blksweep
