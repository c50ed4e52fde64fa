// Whether and how a file can be read with O_DIRECT.
//
// Source:  statx(2) STATX_DIOALIGN (6.1); where the kernel does not say, an O_DIRECT open is tried
//          and the device's logical block is taken.
// Errors:  none: a file that cannot be opened says nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blksweep {

struct DirectIo {
  bool possible = false;
  std::uint32_t align = 0;  // bytes, for offset, length and memory; 0 when the kernel does not say
};

std::optional<DirectIo> direct_io_of(const std::string& path);

// Reads the first `align` bytes of a file or block device that was opened with O_DIRECT: 0, or an
// errno.
int try_direct_read(int fd, std::uint32_t align);

}  // namespace blksweep
