#include "ranks/rank_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/process/process_cpu.h"

namespace blksweep {
namespace {

[[noreturn]] void be_child(const std::function<Exit()>& be, pid_t keeper) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) {  // it ended before we asked
    ::_exit(static_cast<int>(Exit::failed));
  }
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {  // its keeper hears them, and ends it
    ::signal(number, SIG_IGN);
  }
  std::exit(static_cast<int>(be()));
}

}  // namespace

Result<RankProcess> RankProcess::start(const std::function<Exit()>& be) {
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return sys_error(errno, "fork");
  }
  if (child == 0) {
    be_child(be, keeper);
  }
  return RankProcess(child);
}

std::optional<int> RankProcess::ended() {
  int status = 0;
  if (pid_ == 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  pid_ = 0;
  return status;
}

void RankProcess::kill() {
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
}

std::uint64_t RankProcess::cpu_ns() const { return pid_ != 0 ? process_cpu_ns(pid_) : 0; }

}  // namespace blksweep
