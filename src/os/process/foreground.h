// Runs a command in our place: with our terminal, input and output, and the same end as if the user
// had started it.
//
// Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT go on to the command, but for those that come from
//          the terminal, which it has got itself; this process waits for its end. HeldSignals keeps
//          them from ending this process before, and after while it tidies up.
// Death:   the command is killed when this process is (PR_SET_PDEATHSIG); what the command itself
//          started lives on, unless somebody else ends it.
// Errors:  a command that is not found is an Error with exit code 127, one that cannot be started
//          126, as shells have it; a failure of `prepare` is passed on as it is.
// Threads: from the only thread of the process.
#pragma once

#include <signal.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();  // those that are still waiting are dropped: their work is done
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  const sigset_t& held() const { return held_; }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t held_{}, before_{};
};

struct ForegroundCommand {
  std::vector<std::string> argv;      // argv[0] is looked up in PATH
  std::function<Result<>()> prepare;  // in the new process, before the command takes it over
  std::function<void()> tick;         // in this one, ten times a second
};

// Its exit status; 128 + the signal that killed it.
Result<int> run_in_foreground(const ForegroundCommand& command, const HeldSignals& signals);

}  // namespace blksweep
