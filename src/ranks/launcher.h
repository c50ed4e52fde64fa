// Launcher: sees to it that mpirun ends when nothing is left of its job.
//
// Why:     a process that dies while it connects to mpirun's PMIx server makes that server (4.2.2)
//          drop a record of it once too often; mpirun then waits for a lock in that record's
//          memory as it ends, without an end.
// How:     a process of its own outlives the keepers. It looks whether mpirun is still there, not
//          stopped, with no child that lives, and then asks it twice to end (mpirun exits with 1
//          at the second SIGTERM); SIGKILL is the last means. What it does it says on mpirun's
//          stderr. One of a node's keepers is enough.
// Errors:  none: it is tried.
// Threads: forks: of a process without threads.
#pragma once

#include <sys/types.h>

#include "base/units.h"

namespace blksweep {

// By its program: Open MPI's mpirun, which ends with its job; a daemon of many jobs does not.
bool is_launcher(pid_t pid);
// For the parent of this process: `quiet` long nothing is left, and it has not ended.
void watch_launcher(pid_t parent, Nanos quiet);

}  // namespace blksweep
