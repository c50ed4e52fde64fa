// Threads beside the one that issues: they work in its shadow.
#pragma once

#include <sys/resource.h>

namespace blksweep {

// The calling thread gives way to every other (nice 19): the issuing one spins, and a disk may be
// emulated by a third.
inline void give_way() { ::setpriority(PRIO_PROCESS, 0, 19); }

}  // namespace blksweep
