// Which programs of the block probe this kernel can have. Private to src/probe.
//
// By:      what the kernel's BTF has, never its version. The others are not loaded.
// Returns: what is missing without them, as warnings; nothing of those that nobody asked for.
// Errors:  Exit::unsupported without BTF, or without a tracepoint that nothing works without.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probe/handles_bpf.h"
#include "probe/load_probe_bpf.h"

namespace blksweep {

Result<std::vector<std::string>> choose_programs(block_probe& skeleton, const WantedProbe& wanted);

}  // namespace blksweep
