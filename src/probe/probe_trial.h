// Which programs of the block probe this kernel takes from this process: each is loaded and
// attached by itself, and let go at once. Nothing is counted and nothing stays.
//
// Errors:  Exit::unsupported when this program was built without BPF, or the kernel has no BTF; the
//          text is the one that open_block_probe() gives.
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct ProgramTrial {
  std::string tracepoint;
  std::string refusal;  // why it does not load or attach; empty: it does
  std::string without;  // what is missing without it; empty: there is no probe without it
};

Result<std::vector<ProgramTrial>> try_probe_programs();

}  // namespace blksweep
