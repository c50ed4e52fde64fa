#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "os/signals.h"

namespace blksweep {
namespace {

constexpr std::int64_t kLookEveryNs = 100'000'000;
constexpr std::int64_t kGraceNs = 1'000'000'000;
constexpr const char* kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Pipe {
  Fd read_end, write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe for the output of a child");
  }
  Pipe p{Fd(ends[0]), Fd(ends[1])};
  // Only our end: the child sees an ordinary blocking pipe.
  ::fcntl(p.read_end.get(), F_SETFL, O_NONBLOCK);
  return p;
}

// Between vfork and exec the child has only system calls: it borrows our memory.
struct ChildPlan {
  const char* program;  // with its folder
  char* const* argv;
  char* const* environment;
  const char* directory;  // nullptr: ours
  int out, err;
  int failure;  // the errno of what failed is written into it; closed by exec
  pid_t parent;
};

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);  // fails for SIGKILL and SIGSTOP, which is as well
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const ChildPlan& plan) {
  // It must not outlive us by accident: it may hold a device, a mount or a cgroup.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int input = ::open("/dev/null", O_RDONLY);
  if (input < 0) {  // no /dev: a memory file is as empty
    input = ::memfd_create("stdin", MFD_CLOEXEC);
  }
  const bool ready = ::getppid() == plan.parent && ::setpgid(0, 0) == 0 &&
                     ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(plan.out, STDOUT_FILENO) >= 0 &&
                     ::dup2(plan.err, STDERR_FILENO) >= 0 &&
                     (plan.directory == nullptr || ::chdir(plan.directory) == 0);
  if (ready) {
    reset_signals();
    ::execve(plan.program, plan.argv, plan.environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(plan.failure, &error, sizeof error);
  ::_exit(127);
}

// Signals wait meanwhile: a handler of ours must not run in the child.
pid_t start(const ChildPlan& plan) {
  const BlockedSignals blocked;
  // fork would copy every page that a ring has registered.
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) {
    become(plan);
  }
  return pid;
}

// As execve wants them; it does not write through the pointers.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) {
    out.push_back(const_cast<char*>(text.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
}

std::vector<std::string> environment_of(const ProcessSpec& spec) {
  std::vector<std::string> all = spec.environment;
  all.push_back("PATH=" + helper_path());
  for (char** ours = environ; *ours != nullptr; ++ours) {
    const bool given =
        std::ranges::any_of(all, [&](const std::string& e) { return same_name(e, *ours); });
    if (!given) {
      all.emplace_back(*ours);
    }
  }
  return all;
}

// "" when there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  const std::string path = helper_path();
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string program = path.substr(at, end - at) + "/" + name;
    struct stat st {};
    if (end > at && ::access(program.c_str(), X_OK) == 0 && ::stat(program.c_str(), &st) == 0 &&
        S_ISREG(st.st_mode)) {
      return program;
    }
    at = end + 1;
  }
  return "";
}

Result<pid_t> spawn(const ProcessSpec& spec, int out, int err) {
  if (spec.argv.empty()) {
    return fail("run a program: no name given");
  }
  const std::string program = find_program(spec.argv[0]);
  if (program.empty()) {
    return sys_error(ENOENT, "run " + spec.argv[0]);
  }
  const std::vector<char*> argv = pointers(spec.argv);
  const std::vector<std::string> variables = environment_of(spec);
  const std::vector<char*> environment = pointers(variables);
  BLKSWEEP_TRY(Pipe failure, make_pipe());
  ::fcntl(failure.read_end.get(), F_SETFL, 0);  // waits for exec where vfork is a fork (TSan)
  const pid_t pid = start({program.c_str(), argv.data(), environment.data(),
                           spec.directory.empty() ? nullptr : spec.directory.c_str(), out, err,
                           failure.write_end.get(), ::getpid()});
  int error = pid < 0 ? errno : 0;
  failure.write_end.reset();
  if (pid > 0 && ::read(failure.read_end.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid, nullptr, 0);
  }
  if (error != 0) {
    return sys_error(error, "run " + spec.argv[0]);
  }
  return pid;
}

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
    const auto ns = [](const timeval& t) {
      return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
    };
    result.user_ns = ns(usage.ru_utime);
    result.system_ns = ns(usage.ru_stime);
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

std::string helper_path() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nobody sets it
  const char* asked = std::getenv("BLKSWEEP_PATH");
  const char* ours = std::getenv("PATH");
  // NOLINTEND(concurrency-mt-unsafe)
  if (asked != nullptr) {
    return asked;
  }
  return ::geteuid() == 0 || ours == nullptr ? kSystemPath : ours;
}

Result<ProcessResult> run_process(const ProcessSpec& spec) {
  BLKSWEEP_TRY(Pipe out, make_pipe());
  BLKSWEEP_TRY(Pipe err, make_pipe());
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(const pid_t pid, spawn(spec, out.write_end.get(), err.write_end.get()));
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
