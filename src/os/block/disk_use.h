// Who else used a disk while something was timed on it: what its counters say beyond our own part.
//
// Notable: 1 MiB and 5 % of our bytes, or 16 requests and 5 % of the disk's
//          (docs/journal/2026-11-23-shared-disk.md).
// Discards: of bytes they move none, but the disk has to carry them out: counted as requests.
// Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/block/blockdev.h"

namespace blksweep {

// What the disk read for others; unknown without both, and where we read notably more than the disk
// did: some of ours was another disk's. Never negative: what is read ahead counts as ours when it
// is asked for, and as the disk's when it is there.
std::optional<std::uint64_t> others_read(std::optional<std::uint64_t> device_bytes,
                                         std::optional<std::uint64_t> own_bytes);

// In bytes, or in requests: small ones cost a disk that seeks more than their bytes. Of others'
// reads only the bytes are known; they are as many requests as 4 KiB in them, at most all of the
// disk's.
struct DiskUse {
  std::uint64_t own_bytes = 0;                       // that were read
  std::uint64_t other_bytes = 0;                     // read or written beside them
  std::optional<std::uint64_t> other_requests = {};  // as far as they were counted
  std::uint64_t reads = 0;                           // requests of the disk, all together
  std::uint64_t discards = 0;                        // of the others' requests
};
bool is_shared(const DiskUse& use);
// What a disk did meanwhile beside somebody who read `own_bytes` from it and wrote nothing.
struct OthersUse {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  bool notable = false;  // what they read, or what they wrote
};
OthersUse others_beside(const DiskStat& done, std::uint64_t own_bytes);
// What was written and discarded, all of it by others.
DiskUse writes_beside(const DiskStat& done, std::uint64_t own_bytes);
// Says so when it is notable; empty when it is not.
std::string others_warning(const std::string& disk, const DiskUse& read);
// The same of what others wrote meanwhile.
std::string writes_warning(const std::string& disk, const DiskUse& written);

}  // namespace blksweep
