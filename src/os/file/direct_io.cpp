#include "os/file/direct_io.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

// Debian 12's glibc headers know struct statx without the fields of 6.1; the kernel's layout
// (include/uapi/linux/stat.h) has stx_dio_mem_align at 0x98 and stx_dio_offset_align at 0x9c.
constexpr unsigned kStatxDioAlign = 0x2000;
constexpr std::size_t kDioMemAlignAt = 0x98 / sizeof(std::uint32_t);

}  // namespace

std::optional<DirectIo> direct_io_of(const std::string& path) {
  const Fd fd(open_regular_at(AT_FDCWD, path.c_str(), O_DIRECT, Links::anywhere));
  if (!fd) {
    return errno == EINVAL ? std::optional(DirectIo{}) : std::nullopt;
  }
  std::array<std::uint32_t, 64> raw{};  // struct statx is 256 bytes, its first word stx_mask
  const long rc = ::syscall(SYS_statx, fd.get(), "", AT_EMPTY_PATH, kStatxDioAlign, raw.data());
  if (rc != 0 || (raw[0] & kStatxDioAlign) == 0) {
    return DirectIo{true, 0};
  }
  const std::uint32_t align = std::max(raw[kDioMemAlignAt], raw[kDioMemAlignAt + 1]);
  return DirectIo{align != 0, align};
}

int try_direct_read(int fd, std::uint32_t align) {
  const std::size_t size = std::max<std::size_t>(align, kPageBytes);
  std::vector<std::byte> memory(2 * size);
  void* at = memory.data();
  std::size_t space = memory.size();
  std::align(size, align, at, space);
  return ::pread(fd, at, align, 0) < 0 ? errno : 0;
}

}  // namespace blksweep
