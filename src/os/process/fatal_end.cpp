#include "os/process/fatal_end.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <exception>

namespace blksweep {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

std::atomic<bool> installed{false};  // else /proc/self/exe is not blksweep, but a test
std::atomic<bool> owes{false};
std::atomic<bool> ending{false};
std::atomic<pid_t> along{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free,
              "used in signal handlers");

void tell(const char* text) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, std::strlen(text));
}

void tell_cause(int number) {
  tell("blksweep: ended by ");
  const char* name = number > 0 ? ::sigabbrev_np(number) : nullptr;
  tell(name != nullptr ? "SIG" : "");
  tell(name != nullptr ? name : number > 0 ? "a signal" : "an error that nobody expected");
  tell(owes && installed ? ": giving back what was borrowed\n" : "\n");
}

void execute_anew(int number) {
  std::array<char, 12> text{};
  std::to_chars(text.begin(), text.end() - 1, number);  // printf may be what has crashed
  char program[] = "blksweep", verb[] = "node", action[] = "restore", option[] = "--after";
  const std::array<char*, 6> argv{program, verb, action, option, text.data(), nullptr};
  ::execve(kSelf, argv.data(), environ);
  tell("blksweep: that was not possible: run `blksweep node restore`\n");
}

void on_fatal(int number) { end_now(number); }

// What the handler stands on when the stack of the first thread is what ran out.
void prepare_stack() {
  static std::array<std::byte, std::size_t{64} << 10> room;
  stack_t before{};
  if (::sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0) {
    const stack_t ours{.ss_sp = room.data(), .ss_flags = 0, .ss_size = room.size()};
    ::sigaltstack(&ours, nullptr);
  }
}

void on_terminate() {
  if (const std::exception_ptr caught = std::current_exception()) {
    try {
      std::rethrow_exception(caught);
    } catch (const std::exception& e) {
      tell("blksweep: ");
      tell(e.what());
      tell("\n");
    } catch (...) {
    }
  }
  end_now(0);
}

// What ends a process by default, but what is asked for an orderly end (os/process/signals.h).
bool ends_by_default(int number) {
  switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGCONT:
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
    case SIGPIPE:
    case SIGXFSZ:
      return false;
    default:
      return true;
  }
}

}  // namespace

void install_fatal_end() {
  installed = true;
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  prepare_stack();
  struct sigaction action {};
  action.sa_handler = on_fatal;
  action.sa_flags = SA_ONSTACK;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction before {};
    if (ends_by_default(number) && ::sigaction(number, nullptr, &before) == 0 &&
        before.sa_handler == SIG_DFL) {
      ::sigaction(number, &action, nullptr);
    }
  }
  std::set_terminate(on_terminate);
}

void owe() { owes = true; }
void owe_nothing() { owes = false; }

void take_along(pid_t group) { along = group; }

void end_now(int number) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // stays so in what is executed
  if (ending.exchange(true)) {
    for (;;) {
      ::pause();  // another thread is on its way to execute anew
    }
  }
  if (const pid_t group = along; group > 0) {
    ::kill(-group, SIGKILL);
  }
  tell_cause(number);
  if (owes && installed) {
    execute_anew(number);
  }
  end_as(number);
}

void end_as(int number) {
  if (number > 0) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    ::signal(number, SIG_DFL);
    ::raise(number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);  // others that came meanwhile go on waiting
  }
  ::_exit(1);
}

}  // namespace blksweep
