#include "os/process/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace blksweep {
namespace {

// What the flag is in a child that has set `hangup` beforehand and gets SIGHUP afterwards.
bool stops_on_hangup(void (*hangup)(int)) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGHUP, hangup);
    install_stop_signals();
    ::raise(SIGHUP);
    ::_exit(stop_requested() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

TEST(StopSignals, AHangupStopsUnlessNohupHadItIgnored) {
  EXPECT_TRUE(stops_on_hangup(SIG_DFL));
  EXPECT_FALSE(stops_on_hangup(SIG_IGN));
}

bool is_blocked(int number) {
  sigset_t now;
  return ::pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0 && sigismember(&now, number) == 1;
}

// What a child says of SIGUSR1 that was blocked around the fork.
bool child_has_it_blocked(bool keep) {
  pid_t child = 0;
  {
    BlockedSignals blocked;
    child = ::fork();
    if (child == 0 && keep) {
      blocked.keep();
    }
  }
  if (child == 0) {
    ::_exit(is_blocked(SIGUSR1) ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(BlockedSignals, WaitWhileItLivesAndAChildMayKeepThemBlocked) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  {
    const BlockedSignals blocked(one);
    EXPECT_TRUE(is_blocked(SIGUSR1));
    EXPECT_FALSE(is_blocked(SIGUSR2));
    const BlockedSignals all;
    EXPECT_TRUE(is_blocked(SIGUSR2));
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_TRUE(child_has_it_blocked(true));
  EXPECT_FALSE(child_has_it_blocked(false));
  EXPECT_FALSE(is_blocked(SIGUSR1)) << "of the parent it is not";
}

// The signal that a child dies of when these two come; 0: it lives.
int killed_by(int first, int second) {
  const pid_t child = ::fork();
  if (child == 0) {
    install_stop_signals();
    ::raise(first);
    if (!stop_requested()) {
      ::_exit(1);
    }
    ::raise(second);
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the first one was no stop";
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(StopSignals, ASecondOneKillsWhicheverItIs) {
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    for (const int second : {SIGINT, SIGTERM, SIGHUP}) {
      EXPECT_EQ(killed_by(first, second), second) << "after " << first;
    }
  }
}

}  // namespace
}  // namespace blksweep
