// CacheProbe: what became of the pages and inodes of a data set while a run is under way.
//
// Counts pages of watched files that enter and leave the page cache, and knows of each whether the
// run wants it, whether it was there before, and whether it comes back after it was evicted: so it
// says how much of what was wanted had to be fetched, how much was fetched for nobody, and how
// much twice. The windows of read-ahead; inodes and dentries that this process loads and that their
// filesystem gives up; reclaim that this process had to do itself.
//
// Units:     pages of the system's page size; ns. A folio counts with all its pages.
// Meaning:   docs/cache-probe.md, which also says what each hook of the kernel counts.
// Memory:    32 bytes for 64 pages of a file, at least 32 for each file, and about 80 for its
//            entry.
// Errors:    open_cache_probe() fails with Exit::unsupported and a reason (no BTF, not root, built
//            with BPF=0, a filesystem that keeps its pages elsewhere).
// Lifetime:  want() before start(); start() resets all counts; stop() returns what was seen since.
// Threads:   one owner; from start() to stop() a thread of its own takes samples.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct WatchedFile {
  std::uint64_t inode = 0, bytes = 0;
};

struct CachePoint {  // since the start
  std::int64_t at_ns = 0;
  std::uint64_t added = 0, added_wanted = 0, added_again = 0, evicted = 0;
  std::uint64_t inodes_loaded = 0, inodes_evicted = 0, shrunk = 0;  // 0 too where nobody tells
};

// What became of the pages of one file; each page counts once, however often it came and went.
struct FilePages {
  std::size_t file = 0;  // as numbered in the settings; the first of several names
  std::uint64_t wanted = 0, added = 0, unwanted = 0, again = 0;  // unwanted: added, and not wanted
  bool operator==(const FilePages&) const = default;
};

// Counts that are nothing rather than 0 are those that this kernel does not tell.
struct CacheReport {
  std::uint64_t wanted = 0;        // by the run
  std::uint64_t found = 0;         // of them: nobody had to fetch them
  std::uint64_t added = 0;         // by anybody
  std::uint64_t added_wanted = 0;  // of them: that the run wants
  std::uint64_t added_again = 0;   // of them: that had been evicted since the start
  std::uint64_t evicted = 0;
  // Inodes and dentries: loaded by this process, given up by the filesystem for anybody, and given
  // back by its shrinker, which does not tell them apart.
  std::optional<std::uint64_t> inodes_loaded, inodes_evicted, dentries_loaded, shrunk;
  // Read-ahead of watched files, by anybody: reads that asked, because they found nothing or
  // reached the mark of a window; windows that were opened, and their pages, those that are there
  // already included.
  std::optional<std::uint64_t> readahead_sync, readahead_async, windows, window_pages;
  // By threads of this process, for want of memory; what they gave back, of whatever file.
  std::optional<std::uint64_t> reclaims, reclaimed;
  std::optional<std::int64_t> reclaim_ns;
  std::optional<std::uint64_t> kswapd_wakes;  // of the whole node
  std::uint64_t lost_events = 0;              // counts are too low by these
  std::vector<CachePoint> series;
  std::vector<FilePages>
      files;  // with a page that was fetched twice or for nothing; the worst first
  std::vector<std::string> warnings;
};

class CacheProbe {
 public:
  virtual ~CacheProbe() = default;
  // The run wants these bytes of a file, which is numbered as in the settings.
  virtual void want(std::size_t file, std::uint64_t offset, std::uint64_t bytes) = 0;
  virtual void want_nothing() = 0;
  // That start() takes until stop(), at most.
  virtual std::uint32_t descriptors() const = 0;
  virtual Result<> start() = 0;
  virtual Result<CacheReport> stop() = 0;
};

struct CacheProbeSettings {
  std::string root;  // a path on the filesystem of the files
  std::span<const WatchedFile> files;
  std::chrono::milliseconds period{10};  // of samples
  std::size_t most_files = 20;           // of CacheReport::files
  // For tests: tracepoints that count as missing, and those whose programs the kernel is made to
  // refuse.
  std::vector<std::string> without = {}, spoilt = {};
};

Result<std::unique_ptr<CacheProbe>> open_cache_probe(const CacheProbeSettings& settings);

}  // namespace blksweep
