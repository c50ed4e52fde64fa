// A device whose content may be lost, opened for the writes of a replay.
//
// Refused: one that is not named twice; is mounted, has partitions, is part of another device (LVM,
//          RAID, swap, loop) or open in another process; has a partition table or a filesystem, or
//          cannot be read. All of this is looked at before it is opened for writing, and its
//          content once more after that.
// Held:    O_EXCL: as long as it is open, the kernel lets nobody mount or claim it.
// Limits:  a process of another PID namespace that has it open is not seen.
// Errors:  usage for what is refused, with why; as open(2).
// Threads: any.
// Source:  open(2) (O_EXCL on block devices); blkid(8) -p.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

// `device`, named once more by `again`. O_RDWR, O_DIRECT.
Result<Fd> open_to_overwrite(const std::string& device, const std::string& again);

}  // namespace blksweep
