// Where the bytes of a file are: FIEMAP with one buffer that is reused for every file.
//
// Units:   bytes. `physical` is what the filesystem reports: on ext4 and xfs the byte on its block
//          device, on btrfs a btrfs logical address (os/block/btrfs_chunks.h translates it).
// Errors:  errno values as FIEMAP gives them (EOPNOTSUPP: tmpfs, some overlays), not Errors: the
//          caller counts them per file.
// Threads: one owner.
// Source:  Documentation/filesystems/fiemap.rst
#pragma once

#include <linux/fiemap.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace blksweep {

class ExtentReader {
 public:
  explicit ExtentReader(std::size_t extents_per_call = 256);

  // All extents of the open file, however many calls that takes, in file order. A file whose data
  // has no address yet (delayed allocation) is flushed and asked again (FIEMAP_FLAG_SYNC), so
  // syncfs(2) before many files saves them that; the flag would cost every clean file too.
  // Returns 0 or an errno; `extents()` is valid until the next call.
  int read(int fd);
  std::span<const fiemap_extent> extents() const { return all_; }

 private:
  int read_all(int fd, std::uint32_t flags);
  int read_from(int fd, std::uint64_t start, std::uint32_t flags);

  std::size_t capacity_;
  std::vector<std::uint64_t> buffer_;  // struct fiemap with its extents, 8-byte aligned
  std::span<const fiemap_extent> all_;
  std::vector<fiemap_extent> joined_;  // only for files with more extents than one call gives
};

}  // namespace blksweep
