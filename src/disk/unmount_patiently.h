// Unmounting what a process that has just ended may still hold for a moment.
//
// Errors:  errno of the last try. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"

namespace blksweep {

// 0 or errno. io_uring gives up its files after the exit (io_ring_exit_work): whoever has no name
// is waited for, for some seconds; what has a name is not.
int unmount_patiently(const MountFacts& mount);

// The same, and what stays busy is detached (MNT_DETACH), which the warnings say.
Result<std::vector<std::string>> unmount_or_detach(const MountFacts& mount);

}  // namespace blksweep
