#include "ranks/keeper_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace blksweep {

Result<KeeperSignals> KeeperSignals::take() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
    sigaddset(&set, number);
  }
  KeeperSignals s;
  ::sigprocmask(SIG_BLOCK, &set, &s.before_);
  s.fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!s.fd_) {
    return sys_error(errno, "signalfd");
  }
  return s;
}

bool KeeperSignals::told_to_end() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    told_ = told_ || info.ssi_signo != SIGCHLD;
  }
  return told_;
}

bool KeeperSignals::told_within(int ms) {
  pollfd one{fd_.get(), POLLIN, 0};
  return told_to_end() || (::poll(&one, 1, ms) > 0 && told_to_end());
}

void KeeperSignals::give_back() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  fd_.reset();
}

}  // namespace blksweep
