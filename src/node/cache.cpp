#include "node/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <numeric>

#include "base/fd.h"
#include "base/memory.h"

namespace blksweep {
namespace {

constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";
constexpr std::size_t kReadAheadFiles = 64;
constexpr std::uint64_t kScratchBytes = std::uint64_t{1} << 20;

// Files by the device address of their first extent; files without one last, in path order.
std::vector<std::uint32_t> by_address(const Catalog& catalog) {
  std::vector<std::uint64_t> address(catalog.files.size(), ~std::uint64_t{0});
  for (std::uint32_t f = 0; f < address.size(); ++f) {
    const auto extents = catalog.extents_of(f);
    if (!extents.empty() && extents.front().has_address()) {
      address[f] = extents.front().device_offset;
    }
  }
  std::vector<std::uint32_t> files(address.size());
  std::iota(files.begin(), files.end(), 0U);
  std::ranges::stable_sort(files, {}, [&](std::uint32_t f) { return address[f]; });
  return files;
}

// Without root: the data goes, as far as it is clean; metadata stays.
void evict_data(const Catalog& catalog) {
  for (std::uint32_t f = 0; f < catalog.files.size(); ++f) {
    Fd fd(::open(catalog.full_path(f).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd) {
      ::fsync(fd.get());  // dirty pages are not evicted
      ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }
}

void warn_of_leftovers(CacheChange& change, Bytes pinned) {
  const Residency& r = change.after;
  if (r.unreadable > 0) {
    change.warnings.push_back(
        fmt::format("cache: {} of {} files cannot be examined ({}); their residency is unknown",
                    r.unreadable, r.files, r.first_error));
  }
  if (r.resident_bytes > pinned.n) {
    change.warnings.push_back(
        fmt::format("cache: {} of {} are still in the page cache after the drop (pages that are "
                    "mapped, locked or in use by others stay); the run is not fully cold: use "
                    "--cache keep, or run as root",
                    format_bytes({r.resident_bytes}), format_bytes({r.bytes})));
  }
}

struct OpenFile {
  Fd fd;
  std::uint64_t size;
};

void read_through(const OpenFile& file, PageBuffer& scratch) {
  std::uint64_t at = 0;
  while (at < file.size) {
    const ssize_t n = ::pread(file.fd.get(), scratch.data(), kScratchBytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return;  // shows as pages that are not resident
    }
    at += static_cast<std::uint64_t>(n);
  }
}

void read_all(const Catalog& catalog, PageBuffer& scratch) {
  std::deque<OpenFile> ahead;  // their reads are under way
  const auto finish_oldest = [&] {
    read_through(ahead.front(), scratch);
    ahead.pop_front();
  };
  for (const std::uint32_t f : by_address(catalog)) {
    const std::string path = catalog.full_path(f);
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) {
      continue;  // counted by measure()
    }
    ::readahead(fd.get(), 0, std::min(catalog.files[f].size, kScratchBytes));  // only a hint
    ahead.push_back({std::move(fd), catalog.files[f].size});
    if (ahead.size() >= kReadAheadFiles) {
      finish_oldest();
    }
  }
  while (!ahead.empty()) {
    finish_oldest();
  }
}

}  // namespace

Result<> drop_all() {
  ::sync();
  Fd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    return unsupported(std::string("open ") + kDropCaches + ": " + std::strerror(error) +
                       "; dropping caches needs root");
  }
  if (::write(fd.get(), "3", 1) != 1) {
    return sys_error(errno, std::string("write 3 to ") + kDropCaches);
  }
  return {};
}

Residency measure(const Catalog& catalog) {
  return residency(catalog.files.size(),
                   [&](std::size_t i) { return catalog.full_path(static_cast<std::uint32_t>(i)); });
}

CacheChange make_cold(const Catalog& catalog, Bytes pinned) {
  CacheChange change;
  change.before = measure(catalog);
  if (const Result<> dropped = drop_all(); !dropped) {
    evict_data(catalog);
    change.after = measure(catalog);
    change.warnings.push_back(
        "cache: " + dropped.error().text +
        "; only file data was evicted, inodes and dentries stay warm and opens "
        "are faster than on a cold node");
    warn_of_leftovers(change, pinned);
    return change;
  }
  change.after = measure(catalog);
  warn_of_leftovers(change, pinned);
  // measure() opened every file; the second drop takes the inodes that it brought back.
  if (const Result<> again = drop_all(); again) {
    change.metadata_cold = true;
  } else {
    change.warnings.push_back("cache: " + again.error().text + "; inodes and dentries are warm");
  }
  return change;
}

CacheChange warm(const Catalog& catalog) {
  CacheChange change;
  change.before = measure(catalog);
  Result<PageBuffer> scratch = PageBuffer::allocate({kScratchBytes});
  if (!scratch) {
    change.after = change.before;
    change.warnings.push_back("cache: not warmed: " + scratch.error().text);
    return change;
  }
  read_all(catalog, *scratch);
  change.after = measure(catalog);
  if (const auto share = change.after.share(); share && *share < 1.0) {
    change.warnings.push_back(fmt::format(
        "cache: {} of {} are in the page cache after reading everything (memory or its cgroup "
        "limit is "
        "too small, or files are unreadable); the run is not fully warm",
        format_bytes({change.after.resident_bytes}), format_bytes({change.after.bytes})));
  }
  return change;
}

}  // namespace blksweep
