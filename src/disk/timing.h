// Talks to a running daemon through the files in its mount: timing and stats.
//
// Errors:  a dead daemon is named before any of its files is touched; so is one that is held by
//          SIGSTOP, which would never answer.
// Threads: independent functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "disk/registry.h"

namespace blksweep {

Result<> require_running(const Registry& registry, const std::string& name);
// The model of `state`, at its speed-up, with its path_ns.
Result<> apply_timing(const Registry& registry, const DiskState& state);
// What loop and FUSE add to a request of 4 KiB at depth 1, with replies given by the pacer: the median
// of reads of the device, which hold the processor idle in between as a slow disk does.
Result<std::int64_t> measure_path(const Registry& registry, const DiskState& state);

}  // namespace blksweep
