// btrfs: from logical addresses (what FIEMAP reports) to bytes on the device.
//
// Only filesystems on one device whose chunks are single or DUP can be translated; of a DUP chunk
// the first copy is named.
//
// Errors:  Exit::unsupported when it cannot be translated (several devices, RAID profiles, not
//          root); the text says which.
// Threads: read only after read().
// Source:  struct btrfs_chunk in linux/btrfs_tree.h; BTRFS_IOC_TREE_SEARCH_V2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace blksweep {

// How far btrfs at `path` reads ahead, in KiB: its own setting, and not that of the disk's queue.
// Empty: not known, or not btrfs. Source: /sys/fs/btrfs/UUID/bdi (fs/btrfs/sysfs.c, Linux 5.11).
std::string btrfs_read_ahead_kb(const std::string& path);

struct BtrfsChunk {
  std::uint64_t logical, length, physical;
};

class BtrfsChunks {
 public:
  static Result<BtrfsChunks> read(int fd);
  explicit BtrfsChunks(std::vector<BtrfsChunk> sorted) : chunks_(std::move(sorted)) {}

  struct Place {
    std::uint64_t physical;
    std::uint64_t contiguous;  // bytes from here to the end of the chunk
  };
  std::optional<Place> find(std::uint64_t logical) const;

 private:
  std::vector<BtrfsChunk> chunks_;  // by logical address
};

}  // namespace blksweep
