// Unmounts exactly one mount, by its id.
//
// Folders on the way to a mount point may belong to others, who exchange them for links or for
// other mounts meanwhile. The folder above it is held, what is mounted there is compared, and the
// name is looked up in that folder again: a mount point cannot be renamed.
//
// Errors:  0, or errno: ENOENT where this mount is not there (any more), else as umount2(2).
// Source:  umount2(2), statx(2) STATX_MNT_ID (5.8).
// Threads: any.
#pragma once

#include "os/block/blockdev.h"

namespace blksweep {

// `flags`: of umount2; links are never followed.
int unmount_exactly(const MountFacts& mount, int flags);

}  // namespace blksweep
