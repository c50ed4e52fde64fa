#include "os/file/fiemap.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace blksweep {

ExtentReader::ExtentReader(std::size_t extents_per_call)
    : capacity_(extents_per_call),
      buffer_((sizeof(fiemap) + extents_per_call * sizeof(fiemap_extent)) / sizeof(std::uint64_t)) {
}

int ExtentReader::read_from(int fd, std::uint64_t start, std::uint32_t flags) {
  auto* map = reinterpret_cast<fiemap*>(buffer_.data());
  map->fm_start = start;
  map->fm_length = std::numeric_limits<std::uint64_t>::max() - start;
  map->fm_flags = flags;
  map->fm_extent_count = static_cast<std::uint32_t>(capacity_);
  if (::ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
    return errno;
  }
  all_ = {reinterpret_cast<const fiemap_extent*>(map + 1), map->fm_mapped_extents};
  return 0;
}

int ExtentReader::read(int fd) {
  if (const int err = read_all(fd, 0); err != 0) {
    return err;
  }
  constexpr std::uint32_t kNotYet = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC;
  if (std::ranges::any_of(all_, [](const auto& e) { return (e.fe_flags & kNotYet) != 0; })) {
    return read_all(fd, FIEMAP_FLAG_SYNC);
  }
  return 0;
}

int ExtentReader::read_all(int fd, std::uint32_t flags) {
  if (const int err = read_from(fd, 0, flags); err != 0) {
    return err;
  }
  if (all_.size() < capacity_ || (all_.back().fe_flags & FIEMAP_EXTENT_LAST) != 0) {
    return 0;
  }
  joined_.assign(all_.begin(), all_.end());
  while (!all_.empty() && (all_.back().fe_flags & FIEMAP_EXTENT_LAST) == 0) {
    const std::uint64_t next = joined_.back().fe_logical + joined_.back().fe_length;
    if (const int err = read_from(fd, next, flags); err != 0) {
      return err;
    }
    joined_.insert(joined_.end(), all_.begin(), all_.end());
  }
  all_ = joined_;
  return 0;
}

}  // namespace blksweep
