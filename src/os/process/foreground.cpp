#include "os/process/foreground.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/fd.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotStartable = 126;
constexpr timespec kTick{0, 100'000'000};

tl::unexpected<Error> not_started(const std::string& name, int error) {
  return fail("run " + name + ": " + std::strerror(error),
              static_cast<Exit>(error == ENOENT ? kNotFound : kNotStartable));
}

// Returns only when it failed.
Error become(const ForegroundCommand& command, const HeldSignals& signals, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {  // it died before we asked
    ::_exit(128 + SIGKILL);
  }
  if (const Result<> ready = command.prepare(); !ready) {
    return ready.error();
  }
  std::vector<char*> argv;
  for (const std::string& word : command.argv) {
    argv.push_back(const_cast<char*>(word.c_str()));  // execvp does not write through it
  }
  argv.push_back(nullptr);
  ::sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    ::signal(number, SIG_DFL);  // we ignore them (os/process/fatal_end.h)
  }
  ::execvp(argv[0], argv.data());
  return not_started(command.argv[0], errno).value();
}

// The first byte is the exit code, the rest the text.
void send(const Error& error, int fd) {
  const std::string text = static_cast<char>(error.exit_code) + error.text;
  const Result<> sent = write_full(fd, std::as_bytes(std::span(text)), "pipe");
  ::_exit(sent ? kNotStartable : 1);
}

// "" when the command has begun.
std::string receive(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t n = 1; n != 0;) {
    n = ::read(fd, chunk.data(), chunk.size());
    if (n > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(n));
    } else if (n < 0 && errno != EINTR) {
      break;
    }
  }
  return text;
}

int wait_for_end(pid_t child, const HeldSignals& signals, const std::function<void()>& tick) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) != child) {
    siginfo_t info{};
    const int number = ::sigtimedwait(&signals.held(), &info, &kTick);
    if (tick) {
      tick();
    }
    // The terminal sends to its whole process group, of which the command is a part.
    if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL) {
      ::kill(child, number);  // not reaped yet: the pid is still its own
    }
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
    sigaddset(&held_, number);
  }
  ::sigprocmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() {
  constexpr timespec kNoWait{};
  while (::sigtimedwait(&held_, nullptr, &kNoWait) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<int> run_in_foreground(const ForegroundCommand& command, const HeldSignals& signals) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe to the new process");
  }
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return sys_error(errno, "fork");
  }
  if (child == 0) {
    send(become(command, signals, parent), write_end.get());
  }
  write_end.reset();
  const std::string trouble = receive(read_end.get());
  const int status = wait_for_end(child, signals, command.tick);
  if (!trouble.empty()) {
    return fail(trouble.substr(1), static_cast<Exit>(static_cast<unsigned char>(trouble[0])));
  }
  return status;
}

}  // namespace blksweep
