#include "os/process/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/fd.h"
#include "os/process/spawn.h"

namespace blksweep {
namespace {

constexpr std::int64_t kLookEveryNs = 100'000'000;
constexpr std::int64_t kGraceNs = 1'000'000'000;

// Reads what is there; closes the descriptor at end of file.
void drain(Fd& fd, std::string& into, std::size_t limit) {
  std::array<char, 65536> chunk{};
  while (fd) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n > 0) {
      const std::size_t room = limit > into.size() ? limit - into.size() : 0;
      into.append(chunk.data(), std::min(room, static_cast<std::size_t>(n)));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      if (n == 0 || errno != EAGAIN) {
        fd.reset();
      }
      return;
    }
  }
}

// The child between its start and its reaping.
struct Child {
  const ProcessSpec& spec;
  pid_t pid;
  Fd exit_event;  // pidfd; empty on kernels without it
  Fd out, err;
  std::int64_t begin_ns;
  std::int64_t asked_to_end_ns = 0;
  bool killed = false;
  ProcessResult result;

  void end_if_due(std::int64_t now) {
    if (asked_to_end_ns != 0) {
      if (!killed && now - asked_to_end_ns > kGraceNs) {
        ::kill(pid, SIGKILL);
        killed = true;
      }
      return;
    }
    result.timed_out = spec.timeout.count() > 0 && now - begin_ns > spec.timeout.count();
    result.interrupted = spec.interrupt != nullptr && spec.interrupt->load();
    result.hopeless = spec.hopeless && spec.hopeless(pid);
    if (result.timed_out || result.interrupted || result.hopeless) {
      ::kill(pid, SIGTERM);  // not reaped yet: the pid is still ours
      asked_to_end_ns = now;
    }
  }

  bool reap() {
    int status = 0;
    rusage usage{};
    if (::wait4(pid, &status, WNOHANG, &usage) != pid) {
      return false;
    }
    result.wall_ns = now_ns() - begin_ns;
    how_it_ended(result, status, usage);
    return true;
  }

  void wait_for_news(std::int64_t now) {
    std::int64_t wait_ns = kLookEveryNs;
    if (asked_to_end_ns == 0 && spec.timeout.count() > 0) {
      wait_ns = std::clamp<std::int64_t>(begin_ns + spec.timeout.count() - now, 0, wait_ns);
    }
    std::array<pollfd, 3> look{pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0},
                               pollfd{exit_event.get(), POLLIN, 0}};
    ::poll(look.data(), look.size(), static_cast<int>(wait_ns / 1'000'000 + 1));
    drain(out, result.out, spec.max_output);
    drain(err, result.err, spec.max_output);
  }
};

}  // namespace

Result<ProcessResult> run_process(const ProcessSpec& spec) {
  BLKSWEEP_TRY(Pipe out, make_pipe());
  BLKSWEEP_TRY(Pipe err, make_pipe());
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(const pid_t pid,
               spawn(spec, {.out = out.write_end.get(), .err = err.write_end.get()}));
  out.write_end.reset();
  err.write_end.reset();
  Fd exit_event(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Child child{
      spec,  pid, std::move(exit_event), std::move(out.read_end), std::move(err.read_end), begin, 0,
      false, {}};
  // Ends with the child, not with its pipes: a grandchild may keep those open.
  while (!child.reap()) {
    child.end_if_due(now_ns());
    child.wait_for_news(now_ns());
  }
  drain(child.out, child.result.out, spec.max_output);
  drain(child.err, child.result.err, spec.max_output);
  return std::move(child.result);
}

}  // namespace blksweep
