#include "os/signals.h"

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

}  // namespace
}  // namespace blksweep
