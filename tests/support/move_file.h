// Moves the blocks of a file on ext4 as e4defrag does: same inode, same times, other addresses.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep::support {

// struct move_extent and EXT4_IOC_MOVE_EXT (fs/ext4/ext4.h), which no header of user space has.
struct MoveExtent {
  std::uint32_t reserved = 0, donor_fd = 0;
  std::uint64_t orig_start = 0, donor_start = 0, blocks = 0, moved = 0;
};

// Swaps its blocks with those of `donor`, which is made if need be, and then overwrites the donor,
// that is the blocks that the file had. A second call with the same donor brings it back.
inline Result<> swap_with(const std::string& path, const std::string& donor) {
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  Fd other(::open(donor.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct stat st {};
  if (!file || !other || ::fstat(file.get(), &st) != 0 ||
      ::posix_fallocate(other.get(), 0, st.st_size) != 0) {
    return sys_error(errno, "swap " + path);
  }
  MoveExtent move;
  move.donor_fd = static_cast<std::uint32_t>(other.get());
  const auto block = static_cast<std::uint64_t>(st.st_blksize);
  move.blocks = (static_cast<std::uint64_t>(st.st_size) + block - 1) / block;
  if (::ioctl(file.get(), _IOWR('f', 15, MoveExtent), &move) != 0 || move.moved != move.blocks) {
    return sys_error(errno, "EXT4_IOC_MOVE_EXT " + path);
  }
  const std::vector<char> junk(static_cast<std::size_t>(st.st_size), 'x');
  if (::pwrite(other.get(), junk.data(), junk.size(), 0) != st.st_size ||
      ::fsync(file.get()) != 0 || ::fsync(other.get()) != 0) {
    return sys_error(errno, "write " + donor);
  }
  return {};
}

}  // namespace blksweep::support
