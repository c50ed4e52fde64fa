// FUSE filesystems of other users: they answer when their owner likes, or never, and a process that
// waits for one can be ended by SIGKILL alone. Root meets those that were mounted with allow_other.
//
// Method:  /proc/self/mountinfo and the text of the path; nothing that is mounted is touched. A
//          path that leads there through a symbolic link is not seen.
// Source:  mount.fuse3(8): user_id, allow_other.
// Threads: any.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

// Refuses a path on such a filesystem, and a folder with one below it, by name.
Result<> refuse_foreign_mounts(const std::string& path,
                               const std::string& mountinfo = "/proc/self/mountinfo");

}  // namespace blksweep
