#include "os/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace blksweep {
namespace {

// Numbers and layout of include/uapi/linux/mman.h (6.5); Debian 12's headers do not have them.
constexpr long kSysCachestat = 451;
struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

std::uint64_t page_bytes() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Residency sized(std::uint64_t bytes, std::uint64_t resident_pages) {
  Residency r;
  r.files = 1;
  r.bytes = bytes;
  r.pages = (bytes + page_bytes() - 1) / page_bytes();
  // Folios can reach past the last page of the file.
  r.resident_pages = std::min(resident_pages, r.pages);
  r.resident_bytes = std::min(r.resident_pages * page_bytes(), bytes);
  return r;
}

Result<Residency> by_cachestat(int fd, std::uint64_t bytes) {
  CachestatRange range{0, 0};  // length 0: to the end
  Cachestat c{};
  if (::syscall(kSysCachestat, fd, &range, &c, 0) != 0) {
    return sys_error(errno, "cachestat");
  }
  Residency r = sized(bytes, c.cached);
  r.dirty_pages = c.dirty;
  r.writeback_pages = c.writeback;
  r.evicted_pages = c.evicted;
  return r;
}

Result<Residency> by_mincore(int fd, std::uint64_t bytes) {
  if (bytes == 0) {
    return sized(0, 0);
  }
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<unsigned char> in_core(std::min(bytes, kSlice) / page_bytes() + 1);
  std::uint64_t resident = 0;
  for (std::uint64_t at = 0; at < bytes; at += kSlice) {
    const std::size_t length = std::min(kSlice, bytes - at);
    void* map = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
    if (map == MAP_FAILED) {
      return sys_error(errno, "mmap for mincore");
    }
    const int rc = ::mincore(map, length, in_core.data());
    const int error = errno;
    ::munmap(map, length);
    if (rc != 0) {
      return sys_error(error, "mincore");
    }
    const auto pages = static_cast<std::ptrdiff_t>((length + page_bytes() - 1) / page_bytes());
    resident += static_cast<std::uint64_t>(std::count_if(
        in_core.begin(), in_core.begin() + pages, [](unsigned char c) { return (c & 1U) != 0; }));
  }
  return sized(bytes, resident);
}

bool method_is_missing(int error) {  // EPERM: a seccomp filter; EOPNOTSUPP: hugetlbfs
  return error == ENOSYS || error == EPERM || error == EOPNOTSUPP;
}

bool writable(int fd) {
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return ::access(name.c_str(), W_OK) == 0;
}

void add_maybe(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more,
               bool first) {
  if (first) {
    sum = more;
  } else if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();  // part of it is unknown
  }
}

Result<Residency> residency_of_path(const std::string& path, ResidencyMethod method) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  Result<Residency> r = residency_of(fd.get(), method);
  if (!r) {
    return fail(r.error().text + " of " + path);
  }
  return r;
}

}  // namespace

void Residency::add(const Residency& other) {
  const bool first = files == unreadable;  // nothing measured yet
  if (other.files > other.unreadable) {
    add_maybe(dirty_pages, other.dirty_pages, first);
    add_maybe(writeback_pages, other.writeback_pages, first);
    add_maybe(evicted_pages, other.evicted_pages, first);
  }
  files += other.files;
  unreadable += other.unreadable;
  bytes += other.bytes;
  resident_bytes += other.resident_bytes;
  pages += other.pages;
  resident_pages += other.resident_pages;
  if (first_error.empty()) {
    first_error = other.first_error;
  }
}

Result<Residency> residency_of(int fd, ResidencyMethod method) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat");
  }
  const auto bytes = static_cast<std::uint64_t>(st.st_size);
  if (method != ResidencyMethod::mincore) {
    Result<Residency> r = by_cachestat(fd, bytes);
    if (r || method == ResidencyMethod::cachestat || !method_is_missing(r.error().sys_errno)) {
      return r;
    }
  }
  // mincore(2) says "all resident" to others than these (commit 134fca9063ad): better unknown.
  if (::geteuid() != 0 && st.st_uid != ::geteuid() && !writable(fd)) {
    return sys_error(EPERM, "page-cache residency (shown to the owner, root and who may write)");
  }
  return by_mincore(fd, bytes);
}

Residency residency(std::size_t count, const std::function<std::string(std::size_t)>& path,
                    ResidencyMethod method) {
  Residency sum;
  for (std::size_t i = 0; i < count; ++i) {
    Result<Residency> r = residency_of_path(path(i), method);
    if (!r) {
      Residency bad;
      bad.files = bad.unreadable = 1;
      bad.first_error = r.error().text;
      r = std::move(bad);
    }
    sum.add(*r);
  }
  return sum;
}

Residency residency(std::span<const std::string> paths, ResidencyMethod method) {
  return residency(
      paths.size(), [paths](std::size_t i) { return paths[i]; }, method);
}

}  // namespace blksweep
