#include "os/process_id.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/fd.h"

namespace blksweep {
namespace {

struct StatLine {
  char state = 'X';
  std::uint64_t start_time = 0;
};

// The name (field 2) may hold blanks and brackets: fields are counted behind its last ')'.
StatLine stat_of(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
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

char state_of(const ProcessId& id) {
  const StatLine s = id.pid > 0 ? stat_of(id.pid) : StatLine{};
  return s.start_time == id.start_time ? s.state : 'X';
}

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

void send(const ProcessId& id, int signal) {
  const Fd pidfd = open_pidfd(id.pid);
  // Checked while the pidfd holds the process: the pid cannot be another's by then.
  if (pidfd && is_alive(id)) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  }
}

}  // namespace

ProcessId own_id() { return {::getpid(), stat_of(::getpid()).start_time}; }

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
  if (pidfd && is_alive(id)) {
    pollfd look{pidfd.get(), POLLIN, 0};
    ::poll(&look, 1, static_cast<int>(patience / std::chrono::milliseconds(1)));
  }
  int status = 0;
  ::waitpid(id.pid, &status, WNOHANG);
  return !is_alive(id);
}

void ask_to_end(const ProcessId& id) { send(id, SIGTERM); }

void kill_now(const ProcessId& id) { send(id, SIGKILL); }

}  // namespace blksweep
