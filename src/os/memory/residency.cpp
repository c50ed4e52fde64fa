#include "os/memory/residency.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

Result<Residency> by_cachestat(int fd, FileRange part) {
  if (part.length == 0) {  // to cachestat(2) that means "to the end"
    part.offset = 0;
  }
  CachestatRange range{part.offset, part.length};
  Cachestat c{};
  if (::syscall(kSysCachestat, fd, &range, &c, 0) != 0) {
    return sys_error(errno, "cachestat");
  }
  Residency r = sized(part.length, c.cached);
  r.dirty_pages = c.dirty;
  r.writeback_pages = c.writeback;
  r.evicted_pages = c.evicted;
  r.recently_evicted_pages = c.recently_evicted;
  return r;
}

Result<Residency> by_mincore(int fd, FileRange part) {
  if (part.length == 0) {
    return sized(0, 0);
  }
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<unsigned char> in_core(std::min(part.length, kSlice) / page_bytes() + 1);
  std::uint64_t resident = 0;
  for (std::uint64_t done = 0; done < part.length; done += kSlice) {
    const std::size_t length = std::min(kSlice, part.length - done);
    void* map =
        ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(part.offset + done));
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
  return sized(part.length, resident);
}

// An overlay file's pages belong to the file below it, which only a mapping leads to.
bool pages_are_elsewhere(int fd) {
  struct statfs fs {};
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
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
    add_maybe(recently_evicted_pages, other.recently_evicted_pages, first);
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

Result<Residency> residency_of(int fd, FileRange range, ResidencyMethod method) {
  if (method != ResidencyMethod::mincore) {
    Result<Residency> r = by_cachestat(fd, range);
    const bool lies = r && r->resident_pages == 0 && range.length > 0 &&
                      method == ResidencyMethod::automatic && pages_are_elsewhere(fd);
    if ((r && !lies) || method == ResidencyMethod::cachestat ||
        (!r && !method_is_missing(r.error().sys_errno))) {
      return r;
    }
  }
  // mincore(2) says "all resident" to others than these (commit 134fca9063ad): better unknown.
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat");
  }
  if (::geteuid() != 0 && st.st_uid != ::geteuid() && !writable(fd)) {
    return sys_error(EPERM, "page-cache residency (shown to the owner, root and who may write)");
  }
  return by_mincore(fd, range);
}

Result<Residency> residency_of(int fd, ResidencyMethod method) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat");
  }
  return residency_of(fd, FileRange{0, static_cast<std::uint64_t>(st.st_size)}, method);
}

Result<std::vector<double>> residency_map(int fd, std::size_t cells) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return sys_error(errno, "fstat");
  }
  const auto bytes = static_cast<std::uint64_t>(st.st_size);
  const std::uint64_t pages = (bytes + page_bytes() - 1) / page_bytes();
  cells = std::min<std::size_t>(cells, pages);
  std::vector<double> shares(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::uint64_t begin = i * pages / cells * page_bytes();
    const std::uint64_t end = std::min((i + 1) * pages / cells * page_bytes(), bytes);
    BLKSWEEP_TRY(const Residency part, residency_of(fd, FileRange{begin, end - begin}));
    shares[i] = part.share().value_or(0);
  }
  return shares;
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
