#include "os/file/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "os/file/trust.h"
#include "os/memory/memory_room.h"

namespace blksweep {
namespace {

constexpr int kNameTries = 16;

std::string random_ending() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    number = static_cast<std::uint64_t>(::getpid());
  }
  return fmt::format(".{:012x}", number & 0xFFFF'FFFF'FFFF);
}

tl::unexpected<Error> became_shorter(const std::string& path) {
  return fail(path + ": it became shorter while it was read");
}

}  // namespace

Result<std::string> kernel_text(const std::string& path) {
  // Not by a stream: what /proc shows of a process or a descriptor may go while it is read, and
  // a stream's buffer throws then.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  std::string text;
  std::array<char, std::size_t{16} << 10> part{};
  for (ssize_t n = 1; n != 0;) {
    n = ::read(fd.get(), part.data(), part.size());
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "read " + path);
    }
    text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return text;
}

std::string whole_text(const std::string& path) {
  return kernel_text(path).value_or(std::string());
}

std::string first_line(const std::string& path) {
  const std::string text = whole_text(path);
  return text.substr(0, text.find('\n'));
}

std::uint64_t first_number(const std::string& path) {
  const std::string text = first_line(path);
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::int64_t to_ns(const statx_timestamp& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Result<Fd> open_readonly(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  return fd;
}

Result<std::uint64_t> file_size(int fd, const std::string& name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat " + name);
  }
  return static_cast<std::uint64_t>(st.st_size);
}

Result<std::size_t> pread_full(int fd, std::span<std::byte> out, std::uint64_t offset,
                               const std::string& name) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "read " + name);
    }
    if (n == 0) {
      break;
    }
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  return done;
}

Result<> write_full(int fd, std::span<const std::byte> data, const std::string& name) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "write " + name);
    }
    data = data.subspan(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  return {};
}

Result<std::string> read_text(int fd, std::size_t size, const std::string& name) {
  std::string text(size, '\0');
  BLKSWEEP_TRY(const std::size_t got,
               pread_full(fd, std::as_writable_bytes(std::span(text)), 0, name));
  return got == size ? Result<std::string>(std::move(text)) : became_shorter(name);
}

Result<ReplacedFile> ReplacedFile::begin(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
  BLKSWEEP_CHECK(check_way_to(folder));
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "create " + path);
  }
  return begin_in(fd.get(), whole.filename().string(), path);
}

Result<ReplacedFile> ReplacedFile::begin_in(int folder, const std::string& name,
                                            const std::string& path) {
  // A rename would put a file in the place of /dev/stdout.
  struct stat st {};
  if (::fstatat(folder, name.c_str(), &st, 0) == 0 && !S_ISREG(st.st_mode)) {
    return fail(path + " is there and is no regular file: name another one");
  }
  ReplacedFile file;
  file.path_ = path;
  file.name_ = name;
  file.folder_.reset(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::string temporary;
  for (int tries = 0; !file.fd_ && tries < kNameTries; ++tries) {
    temporary = name + random_ending();
    file.fd_.reset(::openat(file.folder_.get(), temporary.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file.fd_ && errno != EEXIST) {
      break;
    }
  }
  if (!file.fd_) {
    return sys_error(errno, "create " + path);
  }
  file.temporary_ = std::move(temporary);
  return file;
}

ReplacedFile::~ReplacedFile() {
  if (!temporary_.empty() && ::unlinkat(folder_.get(), temporary_.c_str(), 0) != 0 &&
      errno != ENOENT) {
    warn(fmt::format("{} beside {} could not be removed: {}; it is of no use", temporary_, path_,
                     std::strerror(errno)));
  }
}

Result<> ReplacedFile::commit() {
  if (::fsync(fd_.get()) != 0) {
    return sys_error(errno, "fsync " + path_);
  }
  BLKSWEEP_CHECK(fd_.close(path_));
  if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0) {
    return sys_error(errno, "rename " + temporary_ + " to " + path_);
  }
  temporary_.clear();
  if (::fsync(folder_.get()) != 0 && errno != EINVAL) {  // EINVAL: not on this filesystem
    return sys_error(errno, "fsync the folder of " + path_);
  }
  return {};
}

Result<> write_file(const std::string& path, std::string_view text) {
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin(path));
  BLKSWEEP_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Result<WholeFile> WholeFile::read(int fd, const std::string& path) {
  BLKSWEEP_TRY(const std::uint64_t size, file_size(fd, path));
  WholeFile file;
  if (size == 0) {
    return file;
  }
  // Before it is taken: a sparse file says any size.
  if (const std::optional<Bytes> room = memory_room().least(); room && size > room->n / 2) {
    return fail(fmt::format("{}: its {} do not fit into half of the memory that is free ({})", path,
                            format_bytes({size}), format_bytes(*room)));
  }
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "memory for " + path);
  }
  file.data_ = static_cast<std::byte*>(at);
  file.size_ = size;
  BLKSWEEP_TRY(const std::size_t got, pread_full(fd, {file.data_, size}, 0, path));
  return got == size ? Result<WholeFile>(std::move(file)) : became_shorter(path);
}

WholeFile::WholeFile(WholeFile&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

WholeFile& WholeFile::operator=(WholeFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

WholeFile::~WholeFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace blksweep
