// Mounts that decide what a path and all below it lead to: those at, above and below it.
//
// Method:  /proc/self/mountinfo and the text of the path; nothing that is mounted is touched. A
//          path that leads there through a symbolic link is not seen.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"

namespace blksweep {

Result<std::vector<MountFacts>> mounts_around(
    const std::string& path, const std::string& mountinfo = "/proc/self/mountinfo");

}  // namespace blksweep
