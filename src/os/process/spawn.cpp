#include "os/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr const char* kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Between vfork and exec the child has only system calls: it borrows our memory.
struct ChildPlan {
  const char* program;  // with its folder
  char* const* argv;
  char* const* environment;
  const char* directory;  // nullptr: ours
  int in, out, err;       // in: -1: nothing to read
  int failure;            // the errno of what failed is written into it; closed by exec
  pid_t parent;
  bool outlives;
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
  if (!plan.outlives) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  int input = plan.in >= 0 ? plan.in : ::open("/dev/null", O_RDONLY);
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

}  // namespace

Result<Pipe> make_pipe(OurEnd ours) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe for the output of a child");
  }
  Pipe p{Fd(ends[0]), Fd(ends[1])};
  // Only our end: the child sees an ordinary blocking pipe.
  const Fd& our_end = ours == OurEnd::read ? p.read_end : p.write_end;
  ::fcntl(our_end.get(), F_SETFL, O_NONBLOCK);
  return p;
}

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

Result<pid_t> spawn(const ProcessSpec& spec, const StdStreams& streams) {
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
  const pid_t pid =
      start({program.c_str(), argv.data(), environment.data(),
             spec.directory.empty() ? nullptr : spec.directory.c_str(), streams.in, streams.out,
             streams.err, failure.write_end.get(), ::getpid(), spec.outlives_us});
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

void how_it_ended(ProcessResult& result, int status, const rusage& usage) {
  const auto ns = [](const timeval& t) {
    return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
  };
  result.user_ns = ns(usage.ru_utime);
  result.system_ns = ns(usage.ru_stime);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace blksweep
