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
#include <string>

#include "base/result.h"
#include "replay/replay.h"

namespace blksweep {

// `path`: of the trace. `drops`: whether caches are dropped before.
Result<std::string> replay_key(const std::string& path, TraceReader& trace,
                               const ReplaySettings& settings, bool drops,
                               const std::atomic<bool>& stop);

}  // namespace blksweep
