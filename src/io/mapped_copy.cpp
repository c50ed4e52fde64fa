#include "io/mapped_copy.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace blksweep {
namespace {

thread_local sigjmp_buf* way_back = nullptr;  // of the copy that this thread is in

std::mutex users_mutex;
unsigned users = 0;
struct sigaction action_before {};

// As if we had none: a default action takes effect when the access is made again, and nobody can
// ignore that.
void pass_on(int number, siginfo_t* info, void* context) {
  if (action_before.sa_handler == SIG_DFL || action_before.sa_handler == SIG_IGN) {
    ::signal(number, SIG_DFL);
  } else if ((action_before.sa_flags & SA_SIGINFO) != 0) {
    action_before.sa_sigaction(number, info, context);
  } else {
    action_before.sa_handler(number);
  }
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  if (way_back != nullptr) {
    // What is blocked during a handler would stay so: the jump is the only way out of it.
    ::pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(*way_back, 1);
  }
  pass_on(number, info, context);
}

}  // namespace

MappedCopies::MappedCopies() {
  const std::lock_guard lock(users_mutex);
  if (users++ > 0) {
    return;
  }
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, &action_before);
}

MappedCopies::~MappedCopies() {
  const std::lock_guard lock(users_mutex);
  if (--users == 0) {
    ::sigaction(SIGBUS, &action_before, nullptr);
  }
}

bool MappedCopies::copy(void* to, const void* from, std::size_t bytes) {
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    way_back = nullptr;
    sigset_t ours;  // blocked still where a sanitizer called our handler for the kernel
    sigemptyset(&ours);
    sigaddset(&ours, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
    return false;
  }
  way_back = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  way_back = nullptr;
  return true;
}

}  // namespace blksweep
