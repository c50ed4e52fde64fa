#include "os/file/open_regular.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/units.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr int kMostRaces = 1000;
constexpr int kSafe = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

std::uint64_t resolution(Links links) {
  if (links == Links::none) {
    return RESOLVE_NO_SYMLINKS;
  }
  return RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
         (links == Links::one_mount ? RESOLVE_NO_XDEV : 0);
}

int open_resolved(int folder, const char* path, int flags, Links links) {
  static std::atomic<bool> is_there{true};
  if (is_there.load(std::memory_order_relaxed)) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = resolution(links);
    long fd = -1;
    int tries = 0;
    do {  // EAGAIN: something was renamed or mounted while ".." was followed, anywhere on the node
      fd = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
    } while (fd < 0 && errno == EAGAIN && ++tries < kMostRaces);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
      return static_cast<int>(fd);
    }
    // EPERM: O_NOATIME on a file of others, or a filter that does not know the call.
    if (errno == EPERM && (flags & O_NOATIME) != 0) {
      return -1;
    }
    is_there.store(false, std::memory_order_relaxed);
  }
  if (links == Links::none) {
    errno = ELOOP;
    return -1;
  }
  return ::openat(folder, path, flags | O_NOFOLLOW);
}

// Otherwise errno says why: ESTALE of another kind.
bool is_kind(int fd, mode_t kind) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return false;
  }
  if ((st.st_mode & S_IFMT) != kind) {
    errno = ESTALE;
    return false;
  }
  return true;
}

// `fd` as it was opened with kSafe: refused when it is of another kind, then made to wait.
int checked(int fd, int flags, mode_t kind) {
  if (fd < 0) {
    return -1;
  }
  if (!is_kind(fd, kind)) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  // io_uring gives EAGAIN for what would block on a filesystem without NOWAIT.
  ::fcntl(fd, F_SETFL, flags);
  return fd;
}

}  // namespace

int open_at(int folder, const char* path, int flags, Links links) {
  if (links == Links::anywhere) {
    return ::openat(folder, path, flags);
  }
  return open_resolved(folder, path, flags, links);
}

int open_kind_at(int folder, const char* path, int flags, mode_t kind) {
  const Fd look(::openat(folder, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)));
  if (!look) {
    return -1;
  }
  if (!is_kind(look.get(), kind)) {
    return -1;  // errno: close does not fail here
  }
  const std::string same = "/proc/self/fd/" + std::to_string(look.get());
  int fd = ::open(same.c_str(), kSafe | (flags & ~O_NOFOLLOW));
  if (fd < 0 && errno == ENOENT) {  // a bare chroot without /proc
    fd = ::openat(folder, path, kSafe | flags);
  }
  return checked(fd, flags, kind);
}

int open_regular_at(int folder, const char* path, int flags, Links links) {
  if (links == Links::anywhere) {
    return open_kind_at(folder, path, flags, S_IFREG);
  }
  return checked(open_at(folder, path, kSafe | flags, links), flags, S_IFREG);
}

int open_quietly_at(int folder, const char* path, int flags, Links links) {
  const int fd = open_regular_at(folder, path, flags | O_NOATIME, links);
  return fd < 0 && errno == EPERM ? open_regular_at(folder, path, flags, links) : fd;
}

Result<Fd> open_regular(const std::string& path) {
  Fd fd(open_regular_at(AT_FDCWD, path.c_str(), 0, Links::anywhere));
  if (fd) {
    return fd;
  }
  return errno == ESTALE ? Result<Fd>(fail("open " + path + ": not a regular file"))
                         : Result<Fd>(sys_error(errno, "open " + path));
}

Result<std::string> read_regular(const std::string& path, std::size_t most, uid_t* owner) {
  BLKSWEEP_TRY(const Fd fd, open_regular(path));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "fstat " + path);
  }
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (owner != nullptr) {
    *owner = st.st_uid;
  }
  if (size > most) {
    return fail(fmt::format("{}: {} are more than the {} that such a file may have", path,
                            format_bytes({size}), format_bytes({most})));
  }
  return read_text(fd.get(), size, path);
}

}  // namespace blksweep
