// What ends a process that owes something is followed by the program anew, which is told of it.
#include "os/process/fatal_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "os/file/file.h"
#include "support/sanitizers.h"

namespace blksweep {
namespace {

// The program that is executed anew is this one, with the words that blksweep would get: it is led
// here, says them with the signals that it has blocked, and ends well.
constexpr const char* kAnew = "FatalEnd.WhatIsExecutedAnew";

std::string with_blanks(std::string words) {
  for (char& c : words) {
    c = c == '\0' ? ' ' : c;
  }
  return words;
}

TEST(FatalEnd, WhatIsExecutedAnew) {
  const std::string words = with_blanks(whole_text("/proc/self/cmdline"));
  if (words.starts_with("blksweep node restore")) {
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    const bool waits = sigismember(&now, SIGINT) == 1 && sigismember(&now, SIGXCPU) == 1;
    const std::string said = "<" + words + (waits ? "blocked>" : "open>");
    EXPECT_GT(::write(STDERR_FILENO, said.data(), said.size()), 0);
  }
}

struct End {
  int signal = 0;  // 0: it exited, with status
  int status = -1;
  std::string said;
  bool anew(int number) const {
    const std::string words = "<blksweep node restore --after " + std::to_string(number) + " ";
    return signal == 0 && status == 0 && said.find(words + "blocked>") != std::string::npos;
  }
};

// In a child, after install_fatal_end().
End end_of(
    const std::function<void()>& work, const std::function<void()>& before = [] {}) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);  // of the tests that it passes
    ::close(ends[0]);
    ::close(ends[1]);
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setenv("GTEST_FILTER", kAnew, 1);
    for (const char* name : {"GTEST_OUTPUT", "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) {
      ::unsetenv(name);
    }
    before();
    owe_nothing();  // another test of this process may have borrowed
    install_fatal_end();
    work();
    ::_exit(42);
  }
  ::close(ends[1]);
  End end;
  std::array<char, 4096> part{};
  for (ssize_t n = 1; n > 0;) {
    n = ::read(ends[0], part.data(), part.size());
    end.said.append(part.data(), static_cast<std::size_t>(n > 0 ? n : 0));
  }
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return end;
}

End dies_of(int number, bool owing) {
  return end_of(
      [=] {
        if (owing) {
          owe();
        }
        ::raise(number);
      },
      [=] { ::signal(number, SIG_DFL); });
}

bool ends_a_process(int number) {
  for (const int other : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG,
                          SIGWINCH, SIGPIPE, SIGXFSZ}) {
    if (number == other) {
      return false;
    }
  }
  return number < 32 || number >= SIGRTMIN;  // between them are the C library's
}

TEST(FatalEnd, WhateverSignalItIsWhatIsOwedIsGivenBack) {
  for (int number = 1; number < NSIG; ++number) {
    if (ends_a_process(number)) {
      const End end = dies_of(number, true);
      EXPECT_TRUE(end.anew(number)) << number << ": " << end.said;
    }
  }
}

TEST(FatalEnd, WithoutDebtsItEndsAsTheSignalDoesAndSaysWhich) {
  for (const int number : {SIGHUP, SIGSEGV, SIGABRT, SIGSYS, SIGRTMAX}) {
    const End end = dies_of(number, false);
    EXPECT_EQ(end.signal, number) << end.said;
    EXPECT_NE(end.said.find("blksweep: ended by "), std::string::npos) << end.said;
    EXPECT_EQ(end.said.find("restore"), std::string::npos) << end.said;
  }
  EXPECT_EQ(dies_of(SIGSEGV, false).said, "blksweep: ended by SIGSEGV\n");
  EXPECT_EQ(dies_of(SIGRTMAX, false).said, "blksweep: ended by a signal\n");
}

// In a process that is new: this one may have borrowed.
constexpr const char* kNewborn = "BLKSWEEP_TEST_NEWBORN";

TEST(FatalEnd, NothingIsOwedAtFirst) {
  if (std::getenv(kNewborn) != nullptr) {
    install_fatal_end();
    ::raise(SIGUSR1);
  }
  const auto newborn = [] {
    ::setenv(kNewborn, "1", 1);
    ::setenv("GTEST_FILTER", "FatalEnd.NothingIsOwedAtFirst", 1);
    ::execl("/proc/self/exe", "unit_tests", static_cast<char*>(nullptr));
  };
  const End end = end_of(newborn);
  EXPECT_EQ(end.signal, SIGUSR1) << end.said;
  EXPECT_TRUE(end.said.ends_with("blksweep: ended by SIGUSR1\n")) << end.said;
}

TEST(FatalEnd, WhatDoesNotEndAProcessIsLeftAloneAndBrokenPipesAreErrors) {
  for (const int number : {SIGPIPE, SIGXFSZ, SIGCHLD, SIGURG, SIGWINCH, SIGCONT}) {
    const End end = dies_of(number, true);
    EXPECT_EQ(end.status, 42) << number << ": " << end.said;
  }
  for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    const auto stays = [=] { ::_exit(::signal(number, SIG_DFL) == SIG_DFL ? 42 : 1); };
    EXPECT_EQ(end_of(stays).status, 42) << number;
  }
}

TEST(FatalEnd, WhatSomebodyElseIgnoresOrHandlesStaysTheirs) {
  const auto raise_it = [] {
    owe();
    ::raise(SIGHUP);
  };
  EXPECT_EQ(end_of(raise_it, [] { ::signal(SIGHUP, SIG_IGN); }).status, 42);
  const auto handled = [] { ::signal(SIGHUP, [](int) { ::_exit(7); }); };
  EXPECT_EQ(end_of(raise_it, handled).status, 7);
}

TEST(FatalEnd, AnExceptionOfAThreadIsSaidAndGivenBackAfter) {
  const auto thrown = [](bool owing) {
    return end_of([owing] {
      if (owing) {
        owe();
      }
      std::thread([] { throw std::runtime_error("the cause of it"); }).join();
    });
  };
  const End owed = thrown(true);
  EXPECT_TRUE(owed.anew(0)) << owed.said;
  const End free = thrown(false);
  EXPECT_EQ(free.status, 1);
  EXPECT_EQ(free.said,
            "blksweep: the cause of it\nblksweep: ended by an error that nobody expected\n");
}

// A signal that comes while it ends is not lost and does no harm: handled on top, it would wait for
// the end that it interrupts.
TEST(FatalEnd, OthersWaitUntilItHasEnded) {
  const End end = end_of(
      [] {
        owe();
        ::signal(SIGUSR1, [](int) {
          ::raise(SIGTERM);  // ends it; of what follows nothing is seen
          ::raise(SIGSEGV);
        });
        ::raise(SIGUSR1);
      },
      [] { ::signal(SIGSEGV, SIG_DFL); });
  EXPECT_TRUE(end.anew(SIGTERM)) << end.said;
}

[[gnu::noinline]] int deeper(volatile int* from) {
  std::array<volatile int, 1024> here{};
  here[0] = *from + 1;
  return here[0] > 0 ? deeper(here.data()) + here[0] : 0;
}

TEST(FatalEnd, AStackThatRunsOutIsNotTheEndOfGivingBack) {
  const End end = end_of([] {
    owe();
    volatile int first = 0;
    ::_exit(deeper(&first));
  });
  if (!support::sanitized()) {  // which has a handler and a stack of its own
    EXPECT_TRUE(end.anew(SIGSEGV)) << end.signal << ": " << end.said;
  }
}

// Two threads at once: one of them ends the process, the other waits for that.
TEST(FatalEnd, ASecondCrashElsewhereDoesNotHurryTheFirst) {
  for (int i = 0; i < 20; ++i) {
    const End end = end_of(
        [] {
          owe();
          std::atomic<int> there = 0;
          const auto crash = [&there] {
            for (++there; there < 2;) {
            }
            ::raise(SIGSEGV);
          };
          std::thread one(crash), two(crash);
          one.join();
          two.join();
        },
        [] { ::signal(SIGSEGV, SIG_DFL); });
    EXPECT_TRUE(end.anew(SIGSEGV)) << end.signal << ": " << end.said;
    EXPECT_EQ(end.said.find("ended by"), end.said.rfind("ended by")) << end.said;
  }
}

// The group of a peer goes first, whatever it makes of other signals.
TEST(FatalEnd, AGroupIsTakenAlong) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const End end = end_of([&ends] {
    const pid_t group = ::fork();
    if (group == 0) {
      ::close(STDOUT_FILENO);
      ::close(STDERR_FILENO);
      ::sleep(10);
      ::_exit(::write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    ::setpgid(group, group);
    take_along(group);
    end_now(SIGTERM);
  });
  ::close(ends[1]);
  char c = 0;
  EXPECT_EQ(::read(ends[0], &c, 1), 0) << "until the last of the group has ended";
  ::close(ends[0]);
  EXPECT_EQ(end.signal, SIGTERM);
}

}  // namespace
}  // namespace blksweep
