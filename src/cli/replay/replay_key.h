// Which replay this is: the same settings, on a trace and a target that hold the same, under the
// same conditions of the node, give the same key. A campaign that was cut off goes on by it.
//
// Part of it: the bytes of the trace; the settings; the files that the trace names (size, inode,
//             time of change); the disk with all beneath it, its queue; CPUs, cgroup and kernel;
//             the program. Where files lie on the disk is not.
// Errors:     as of reading the trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"
#include "replay/replay.h"

namespace blksweep {

// Where it reads; nullopt: not known.
std::optional<BlockDevice> device_of(const ReplaySettings& settings);
// The files `names` below the settings' folder as they are now; of a device the same always.
std::string files_key(const std::vector<std::string>& names, const ReplaySettings& settings);

// `path`: of the trace, which names these files. `drops`: whether caches are dropped before.
Result<std::string> replay_key(const std::string& path, const std::vector<std::string>& names,
                               const ReplaySettings& settings, bool drops);

}  // namespace blksweep
