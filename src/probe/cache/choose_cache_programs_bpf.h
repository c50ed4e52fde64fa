// Which programs of the cache probe this kernel can have, for data on one kind of filesystem.
// Private to src/probe.
//
// By:      what BTF has of the kernel and of the filesystem's module, never a version. The others
//          are not loaded.
// Returns: what is missing without them, as warnings; nothing of those for other filesystems.
// Errors:  Exit::unsupported without BTF, or without a tracepoint that nothing works without.
#pragma once

#include <bpf/libbpf.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

// without: tracepoints that count as missing.
Result<std::vector<std::string>> choose_cache_programs(bpf_object* programs,
                                                       const std::vector<std::string>& without,
                                                       const std::string& filesystem);

}  // namespace blksweep
