// A process named by pid and start time, so that a pid that was given out again is not taken for
// it.
//
// Source:  /proc/PID/stat (proc(5)); pidfd_open(2).
// Errors:  of ids only, where /proc cannot be read; without /proc it began at 0. A process that is
//          not there, or a zombie, is not alive; one that cannot be looked at (no descriptor is
//          left) is taken for alive: what the dead have borrowed would be taken from it.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot: /proc/PID/stat, field 22
};

Result<ProcessId> own_id();
Result<ProcessId> id_of(pid_t pid);
// Whether the process that has this pid now began after that moment of CLOCK_MONOTONIC, or is gone:
// who had the pid then was another one. Times of processes are ticks of 10 ms.
bool began_after(pid_t pid, std::int64_t monotonic_ns);
bool is_alive(const ProcessId& id);
bool is_stopped(const ProcessId& id);  // by SIGSTOP or a debugger: it answers nothing
// Whether it ended within that time. Reaps it if it is a child of ours.
bool wait_for_end(const ProcessId& id, Nanos patience);
// SIGTERM, SIGKILL to exactly that process.
void ask_to_end(const ProcessId& id);
void kill_now(const ProcessId& id);

}  // namespace blksweep
