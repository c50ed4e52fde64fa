// Which addresses of a file or a block device were ever written, where something tells: holes and
// trimmed blocks are answered without a medium, and a measurement over them is none of the device.
//
// A file:      SEEK_DATA and SEEK_HOLE (holes, and extents that were only reserved).
// A loop device: the same of its backing file, unless that is on FUSE (never asked: it could wait
//              for a daemon that is dead).
// Else:        the filesystem that is mounted from it, through FS_IOC_GETFSMAP (ext4, xfs): all but
//              its free space. Not for a rotating disk, whose free space answers like the rest.
// Source:      lseek(2), linux/fsmap.h, ioctl_getfsmap(2).
// Errors:      none: where nothing tells, `by` is empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_range.h"
#include "base/fd.h"

namespace blksweep {

struct WrittenRanges {
  std::string by;                 // "the holes of /images/a"; empty: nothing tells
  std::vector<ByteRange> ranges;  // ascending, apart
  std::uint64_t bytes() const;
};

// `path` is a regular file or a block device of `size` bytes.
WrittenRanges written_ranges(const std::string& path, std::uint64_t size);

// The data of an open file between `begin` and `end`, counted from `begin`.
std::vector<ByteRange> data_of_file(const Fd& fd, ByteRange part);

}  // namespace blksweep
