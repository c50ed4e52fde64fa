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
// What loop and FUSE add to a request of 4 KiB at depth 1, with replies given by the pacer; between
// reads the processor idles, as under a slow disk. The tenth percentile: other work on the host
// only ever adds. Warns when the median is far from it.
Result<std::int64_t> measure_path(const Registry& registry, const DiskState& state);

}  // namespace blksweep
