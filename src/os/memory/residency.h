// What part of a file is in the page cache, without reading it.
//
// Units:   pages of the system's page size; bytes of the file (the last page counts as a part).
// Method:  cachestat(2) (Linux 6.5) also tells dirty, writeback and evicted pages and costs one
//          call per file. mincore(2) before that: resident only, the other fields are nullopt, and
//          it is truthful only for the owner of the file or with write permission (commit
//          134fca9063ad). On overlay the file's own mapping is empty and cachestat(2) always says
//          nothing is resident: mincore is used there (seen on 6.18).
// Cost:    asking opens the file, which brings its dentry and inode into their caches: drop caches
//          again after asking when a run is to start with cold metadata.
// Errors:  residency() does not fail: files that cannot be opened are counted and the first one is
//          named.
// Threads: pure functions; one descriptor is open at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct Residency {
  std::uint64_t files = 0, unreadable = 0;
  std::uint64_t bytes = 0, resident_bytes = 0;
  std::uint64_t pages = 0, resident_pages = 0;
  std::optional<std::uint64_t> dirty_pages, writeback_pages, evicted_pages;
  // Evicted so recently that reading them again counts as a refault of the working set.
  std::optional<std::uint64_t> recently_evicted_pages;
  std::string first_error;  // of an unreadable file

  // Share of the readable bytes that is resident; nullopt when there are no bytes.
  std::optional<double> share() const {
    return bytes == 0
               ? std::nullopt
               : std::optional(static_cast<double>(resident_bytes) / static_cast<double>(bytes));
  }
  void add(const Residency& other);
};

enum class ResidencyMethod { automatic, cachestat, mincore };

// One open regular file. ENOSYS when the method is cachestat and the kernel has none.
Result<Residency> residency_of(int fd, ResidencyMethod method = ResidencyMethod::automatic);

// A part of it; `offset` is a multiple of the page size, both lie inside the file. files is 1.
struct FileRange {
  std::uint64_t offset = 0, length = 0;
};
Result<Residency> residency_of(int fd, FileRange range,
                               ResidencyMethod method = ResidencyMethod::automatic);

// The resident share of each of at most `cells` equal parts of an open file, from its begin to its
// end; fewer when it has fewer pages, none when it is empty.
Result<std::vector<double>> residency_map(int fd, std::size_t cells);

// The sum over files, in the order given.
Residency residency(std::span<const std::string> paths,
                    ResidencyMethod method = ResidencyMethod::automatic);
// The same for `count` names made one by one, so that a million of them need not exist at once.
Residency residency(std::size_t count, const std::function<std::string(std::size_t)>& path,
                    ResidencyMethod method = ResidencyMethod::automatic);

}  // namespace blksweep
