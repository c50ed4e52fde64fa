// A process named by pid and start time, so that a pid that was given out again is not taken for
// it.
//
// Source:  /proc/PID/stat (proc(5)); pidfd_open(2).
// Errors:  none; a process that cannot be looked at is not alive. A zombie is not alive.
// Threads: any.
#pragma once

#include "base/units.h"
#include "disk/registry.h"

namespace blksweep {

DaemonId own_id();
bool is_alive(const DaemonId& id);
bool is_stopped(const DaemonId& id);  // by SIGSTOP or a debugger: it answers nothing
// Whether it ended within that time. Reaps it if it is a child of ours.
bool wait_for_end(const DaemonId& id, Nanos patience);
// SIGKILL to exactly that process.
void kill_now(const DaemonId& id);

}  // namespace blksweep
