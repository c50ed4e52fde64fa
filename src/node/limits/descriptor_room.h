// How many descriptors and mappings one helper of a pin may hold.
//
// Source: getrlimit(2) RLIMIT_NOFILE, proc_sys_vm(5) max_map_count. Errors: none. Threads: any.
#pragma once

#include <cstdint>

namespace blksweep {

// The soft limit becomes the hard one, for this process.
void raise_descriptor_limit();
std::uint64_t descriptors_per_helper();            // with the hard limit
std::uint64_t inode_helpers(std::uint64_t files);  // 0 for none
std::uint64_t mappings_per_process();

}  // namespace blksweep
