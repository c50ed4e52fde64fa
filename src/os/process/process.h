// Runs one child program and collects what it said, how it ended and what it cost.
//
// Units:     nanoseconds; CPU time is the child's and its reaped descendants' (wait4 rusage).
// Ownership: the child is always reaped before run_process returns. On timeout or interrupt, or
//            when it is hopeless, it gets SIGTERM, and SIGKILL one second later; only that pid is
//            signalled, never a group. The child is killed when the calling thread ends, and so
//            when we are killed (PR_SET_PDEATHSIG); its own children are not.
// Errors:    a program that cannot be started is an Error with its errno (ENOENT: not installed); a
//            program that ran and failed is a ProcessResult.
// Trust:     helpers are looked up in $BLKSWEEP_PATH, else as root in the system's own folders,
//            else in $PATH; the child's PATH is the same (docs/security.md).
// Threads:   any thread; the child is in its own process group, so that a terminal's Ctrl-C reaches
//            it only through `interrupt`.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

struct ProcessSpec {
  std::vector<std::string> argv = {};              // argv[0] without a slash is looked up; no shell
  std::string directory = {};                      // working directory; empty: ours
  std::vector<std::string> environment = {};       // "NAME=value", beside ours and before it
  Nanos timeout{0};                                // 0: none
  const std::atomic<bool>* interrupt = nullptr;    // looked at ten times a second
  bool outlives_us = false;                        // it is not killed with us, and ends by itself
  std::function<bool(pid_t)> hopeless = {};        // looked at as often; true ends the child
  std::size_t max_output = std::size_t{64} << 20;  // per stream; the rest is read and dropped
};

struct ProcessResult {
  int exit_status = -1;  // valid when signal is 0
  int signal = 0;        // that ended it
  bool timed_out = false, interrupted = false, hopeless = false;
  std::string out, err;
  std::int64_t wall_ns = 0, user_ns = 0, system_ns = 0;
  bool ok() const { return signal == 0 && exit_status == 0; }
};

Result<ProcessResult> run_process(const ProcessSpec& spec);

// Where helpers are looked up.
std::string helper_path();

}  // namespace blksweep
