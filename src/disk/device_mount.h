// The filesystem of a device that exists, mounted for reading only: nothing is ever written to the
// device, not even the replay of a journal (ext4 noload, xfs norecovery, btrfs nologreplay).
//
// Errors:  no block device, no known filesystem, whatever mount(2) says; Exit::unsupported without
//          root.
// Threads: independent functions.
// Source:  mount(2), ext4(5), xfs(5), btrfs(5).
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

// "/dev/sdb1", links resolved.
Result<std::string> real_device(const std::string& device);
// Where it is mounted already, that is shown at `folder` too (a bind mount, for reading only).
Result<> mount_read_only(const std::string& device, const std::string& folder);

}  // namespace blksweep
