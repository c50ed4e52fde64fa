#include "os/process/process_id.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

struct StatLine {
  char state = 'X';
  std::uint64_t start_time = 0;
};

// Error: it cannot be looked at, which is not to say that it is gone.
Result<std::string> stat_text(pid_t pid) {
  Result<std::string> text = kernel_text(fmt::format("/proc/{}/stat", pid));
  const bool gone = !text && (text.error().sys_errno == ENOENT || text.error().sys_errno == ESRCH);
  return gone ? std::string() : std::move(text);
}

// The name (field 2) may hold blanks and brackets: fields are counted behind its last ')'.
Result<StatLine> stat_of(pid_t pid) {
  BLKSWEEP_TRY(const std::string line, stat_text(pid));
  const std::size_t name_end = line.rfind(')');
  StatLine s;
  if (name_end == std::string::npos) {
    return s;
  }
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  fields >> s.state;
  constexpr int kBetween = 18;  // fields 4 to 21
  for (int i = 0; i < kBetween; ++i) {
    fields >> skipped;
  }
  fields >> s.start_time;
  return s;
}

constexpr char kNotKnown = '?';

char state_of(const ProcessId& id) {
  const Result<StatLine> s = id.pid > 0 ? stat_of(id.pid) : StatLine{};
  if (!s) {
    return kNotKnown;
  }
  return s->start_time == id.start_time ? s->state : 'X';
}

constexpr std::int64_t kNsPerMs = 1'000'000;

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

void send(const ProcessId& id, int signal) {
  const Fd pidfd = open_pidfd(id.pid);
  // Checked while the pidfd holds the process: the pid cannot be another's by then.
  if (pidfd && is_alive(id)) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  } else if (!pidfd && errno != ESRCH && is_alive(id)) {
    ::kill(id.pid, signal);  // no descriptor is left: the kernel hands pids out in turn
  }
}

}  // namespace

Result<ProcessId> id_of(pid_t pid) {
  BLKSWEEP_TRY(const StatLine s, stat_of(pid));
  return ProcessId{pid, s.start_time};
}

Result<ProcessId> own_id() { return id_of(::getpid()); }

bool began_after(pid_t pid, std::int64_t monotonic_ns) {
  const Result<StatLine> s = stat_of(pid);
  if (!s || s->state == 'X') {
    return true;
  }
  const auto tick_ns = static_cast<std::uint64_t>(1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  struct timespec boot {};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);  // goes on while the machine sleeps
  const std::int64_t slept = boot.tv_sec * 1'000'000'000 + boot.tv_nsec - now_ns();
  return static_cast<std::int64_t>(s->start_time * tick_ns) > monotonic_ns + slept;
}

bool is_alive(const ProcessId& id) {
  const char state = state_of(id);
  return state != 'X' && state != 'x' && state != 'Z';
}

bool is_stopped(const ProcessId& id) {
  const char state = state_of(id);
  return state == 'T' || state == 't';
}

bool wait_for_end(const ProcessId& id, Nanos patience) {
  const Fd pidfd = open_pidfd(id.pid);
  const std::int64_t until = now_ns() + patience.count();
  bool ended = false;
  for (std::int64_t left = patience.count(); left > 0 && is_alive(id); left = until - now_ns()) {
    pollfd look{pidfd.get(), POLLIN, 0};
    ended = pidfd && ::poll(&look, 1, static_cast<int>(left / kNsPerMs + 1)) > 0;
    if (ended) {
      break;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 2 * kNsPerMs};  // where it cannot be waited for
    ::nanosleep(&pause, nullptr);
    ::waitpid(id.pid, nullptr, WNOHANG);
  }
  int status = 0;
  ::waitpid(id.pid, &status, WNOHANG);
  return ended || !is_alive(id);
}

void ask_to_end(const ProcessId& id) { send(id, SIGTERM); }

void kill_now(const ProcessId& id) { send(id, SIGKILL); }

}  // namespace blksweep
