// What the kernel says of a request of the block layer: what it is for, who made it.
#pragma once

#include <cstdint>

namespace blksweep {

struct ReadOrigin {
  bool metadata = false;      // the filesystem marks it as its own
  bool read_ahead = false;    // nobody has asked for it yet
  bool device_page = false;   // it goes into the page cache of a block device
  std::uint32_t process = 0;  // that made it; 0: not known
};

// Counts of a disk's requests that are no reads.
struct OtherRequests {
  std::uint64_t writes = 0, write_bytes = 0, flushes = 0, discards = 0, discard_bytes = 0;
};

}  // namespace blksweep
