#include "node/pin/page_lock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr std::size_t kChunk = std::size_t{16} << 20;
constexpr std::size_t kAheadBytes = std::size_t{1} << 20;

int lock_chunks(int fd, const LockedFile& file, StopLook& look) {
  auto* const at = static_cast<std::byte*>(file.at);
  for (std::size_t from = 0; from < file.length; from += kChunk) {
    if (look.stop()) {
      return EINTR;
    }
    ::readahead(fd, static_cast<off64_t>(from), 2 * kChunk);  // only a hint
    // Not mlock(3): the sanitizers make that do nothing.
    if (::syscall(SYS_mlock, at + from, std::min(kChunk, file.length - from)) != 0) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

int lock_file(const char* path, StopLook& look, LockedFile& out) {
  const Fd fd(open_regular_at(AT_FDCWD, path, 0, Links::anywhere));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) {
    return errno;
  }
  LockedFile file{nullptr, static_cast<std::size_t>(st.st_size)};
  if (file.length == 0) {
    return 0;
  }
  file.at = ::mmap(nullptr, file.length, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (file.at == MAP_FAILED) {
    return errno;
  }
  // A helper forked later would have these mappings too, and no room for its own.
  ::madvise(file.at, file.length, MADV_DONTFORK);
  if (const int error = lock_chunks(fd.get(), file, look); error != 0) {
    unlock_file(file);
    return error;
  }
  out = file;
  return 0;
}

void unlock_file(const LockedFile& file) {
  if (file.at != nullptr) {
    ::munmap(file.at, file.length);
  }
}

void read_ahead(const char* path) {
  const Fd fd(open_regular_at(AT_FDCWD, path, 0, Links::anywhere));
  if (fd) {
    ::readahead(fd.get(), 0, kAheadBytes);
  }
}

}  // namespace blksweep
