// Which replay this is: the same settings, on a trace and a target that hold the same, under the
// same conditions of the node, give the same key. A campaign that was cut off goes on by it.
//
// Part of it: the bytes of the trace; the settings; the files that the trace names (size, inode,
//             time of change); the disk with all beneath it, its queue; CPUs, cgroup and kernel;
//             the program. Where files lie on the disk is not.
// Errors:     as of reading the trace.
// Threads:    one owner of `trace`, which is left at its first record.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/blockdev.h"
#include "replay/replay.h"

namespace blksweep {

// Where it reads; nullopt: not known.
std::optional<BlockDevice> device_of(const ReplaySettings& settings);
// The files that the trace at `path` names, as they are now; of a device the same always.
Result<std::string> files_key(const std::string& path, const ReplaySettings& settings,
                              const std::atomic<bool>& stop);

// `path`: of the trace. `drops`: whether caches are dropped before.
Result<std::string> replay_key(const std::string& path, TraceReader& trace,
                               const ReplaySettings& settings, bool drops,
                               const std::atomic<bool>& stop);

}  // namespace blksweep
