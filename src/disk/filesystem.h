// The filesystem on an emulated disk: what is there, make one, mount it.
//
// Never overwrites: a device that holds anything but the wanted filesystem is refused.
//
// Source:  blkid(8) -p; mkfs.*(8); mount(2).
// Errors:  Exit::unsupported names the package that has a missing program.
// Threads: independent functions; programs end when the user interrupts.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

// "ext4", "dos" (a partition table), or "" when blkid knows nothing of it.
Result<std::string> content_of(const std::string& device);
bool is_known_filesystem(const std::string& type);  // ext4, xfs, btrfs
// `fresh`: nothing was ever written to the device.
Result<> make_filesystem(const std::string& device, const std::string& type, bool fresh);
Result<> mount_filesystem(const std::string& device, const std::string& type,
                          const std::string& folder);

}  // namespace blksweep
