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

// The longest read that stays one request, `max_sectors_kb` of its queue. A longer one has to be
// split, which the block layer refuses (EAGAIN) to who must not wait, such as io_uring, when its
// bytes are in /proc/self/io: they are there twice once the kernel's worker has read it. Unlimited:
// not known.
std::uint64_t longest_request(const std::string& disk);

// Reads the first `align` bytes of a file or block device that was opened with O_DIRECT: 0, or an
// errno.
int try_direct_read(int fd, std::uint32_t align);

}  // namespace blksweep
