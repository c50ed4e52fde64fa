// What a disk takes as one request, and whether a read needs more than one.
//
// A longer read has to be split, which the block layer refuses (EAGAIN) to who must not wait, such
// as io_uring, when its bytes are in /proc/self/io already: they are there twice once the kernel's
// worker has read it (seen on Linux 6.18).
//
// Source:  queue/max_sectors_kb, max_segments and max_segment_size (Documentation/ABI/stable/
//          sysfs-block); bio_split_rw() of the kernel.
// Threads: any; no state.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace blksweep {

struct RequestLimits {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t bytes = kUnlimited;
  std::uint64_t segments = kUnlimited;       // runs of memory, each of at most
  std::uint64_t segment_bytes = kUnlimited;  // so many
  // Memory is in huge pages, so that what lies side by side is one run; else each page is one.
  bool huge_pages = true;
};

// What this process may have of huge pages: "always", "madvise" (where it asks, as our buffers do),
// "never" (the node's setting, or prctl(2) of whoever started it).
std::string huge_pages_mode();

// Of a disk under /sys/block; unlimited: not known.
RequestLimits limits_of(const std::string& disk);

// A read into this memory may be more than one request. What happens to lie side by side in memory
// without being in a huge page is not known here: such a read may be one, and this says more.
bool may_split(std::span<const iovec> memory, const RequestLimits& limits);

}  // namespace blksweep
