#include "os/process/signals.h"

#include <signal.h>

#include <cerrno>

#include "os/process/fatal_end.h"

namespace blksweep {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "written in a signal handler");

void on_signal(int number) {
  if (stop.exchange(true)) {
    end_now(number);
  }
}

std::atomic<unsigned> continued{0};

void on_continue(int) { continued.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void install_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = 0;  // no SA_RESTART: waits return with EINTR
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    const bool nohup = number == SIGHUP && before.sa_handler == SIG_IGN;
    if (!nohup) {
      ::sigaction(number, &action, nullptr);
    }
  }
  action.sa_handler = on_continue;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGCONT, &action, nullptr);
}

unsigned times_continued() { return continued.load(std::memory_order_relaxed); }

const std::atomic<bool>& stop_requested() { return stop; }

BlockedSignals::BlockedSignals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

BlockedSignals::BlockedSignals(const sigset_t& these) {
  ::pthread_sigmask(SIG_BLOCK, &these, &before_);
}

BlockedSignals::~BlockedSignals() {
  if (!kept_) {
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
}

}  // namespace blksweep
