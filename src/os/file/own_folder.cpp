#include "os/file/own_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/clock.h"
#include "os/file/file.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

constexpr mode_t kOthersWrite = 022;

Result<> check_own(const struct stat& st, const std::string& path, const char* what) {
  if (st.st_uid == 0 && ::geteuid() != 0) {
    return fail(path + " is root's: call blksweep as root");
  }
  if (st.st_uid != ::geteuid() || (st.st_mode & kOthersWrite) != 0) {
    return fail(
        fmt::format("{} is not a {} of this user alone (another owner, or writable by others): "
                    "look who made it, then remove it",
                    path, what));
  }
  return {};
}

}  // namespace

Result<> own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return sys_error(errno, "make the folder " + path);
  }
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  if (!S_ISDIR(st.st_mode)) {
    return fail(path + " is not a folder (a link or a file): look who made it, then remove it");
  }
  return check_own(st, path, "folder");
}

Result<> own_folders(const std::string& base, const std::vector<std::string>& names) {
  std::string path = base;
  for (const std::string& name : names) {
    path += "/" + name;
    BLKSWEEP_CHECK(own_folder(path));
  }
  return {};
}

Result<> check_own_folders(const std::string& base, const std::vector<std::string>& names) {
  std::string path = base;
  for (const std::string& name : names) {
    path += "/" + name;
    struct stat st {};
    if (::lstat(path.c_str(), &st) != 0) {
      return errno == ENOENT || errno == EACCES ? Result<>() : sys_error(errno, "look at " + path);
    }
    if (!S_ISDIR(st.st_mode) || !trusted_owner(st.st_uid) || (st.st_mode & kOthersWrite) != 0) {
      return fail(path +
                  " is not a folder of root or this user alone: look who made it, then "
                  "remove it");
    }
  }
  return {};
}

Result<std::optional<Fd>> lock_folder(const std::string& path, Nanos patience) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    return sys_error(errno, "open " + path);
  }
  const std::int64_t until = now_ns() + patience.count();
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return sys_error(errno, "lock " + path);
    }
    if (now_ns() > until) {
      return std::optional<Fd>();
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return std::optional(std::move(folder));
}

Result<Fd> open_own_file(const std::string& path) {
  // O_NONBLOCK: a FIFO in its place must not hang.
  Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == ELOOP) {
      return fail(path + " is a symbolic link: look who made it, then remove it");
    }
    return sys_error(error, "open " + path);
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
    return fail(path + " is not a plain file with one name: look who made it, then remove it");
  }
  BLKSWEEP_CHECK(check_own(st, path, "file"));
  return fd;
}

Result<std::string> read_own_file(const std::string& path, std::size_t most) {
  BLKSWEEP_TRY(const Fd fd, open_own_file(path));
  std::string text(most + 1, '\0');
  BLKSWEEP_TRY(const std::size_t got,
               pread_full(fd.get(), std::as_writable_bytes(std::span(text)), 0, path));
  if (got > most) {
    return fail(fmt::format(
        "{} has more than {} bytes, more than this program writes: look who made it", path, most));
  }
  text.resize(got);
  return text;
}

}  // namespace blksweep
