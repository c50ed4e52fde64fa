// DEV|PATH on the command line: "loop0", "/dev/loop0p1", or any file or folder on the device.
//
// Errors:  a device that is not there; a path on a filesystem without one (os/block/blockdev.h).
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"

namespace blksweep {

Result<BlockDevice> device_of_argument(const std::string& text);

// What the disk stands on, from the top: {"dm-0", "sda", "sdb"}, {"loop0", "/data/image", "vda"}.
std::vector<std::string> stack_of(const std::string& disk);

}  // namespace blksweep
