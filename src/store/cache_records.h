// Of a run with --probe-cache: what became of the pages and inodes of its data set
// (docs/cache-probe.md; store/records.h has the run).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/maybe.h"

namespace blksweep {

struct CacheSeriesPoint {  // since the begin of the epoch
  std::int64_t at_ns = 0;
  std::uint64_t added_bytes = 0, wanted_bytes = 0;  // of what was added: that the run wants
  std::uint64_t again_bytes = 0, evicted_bytes = 0;
  // As in the record; 0 where it is NULL.
  std::uint64_t inodes_loaded = 0, inodes_evicted = 0, shrinker_freed = 0;
  bool operator==(const CacheSeriesPoint&) const = default;
};

// Pages of one file that were fetched for nothing or twice; each counts once.
struct CacheFileRecord {
  std::string path;  // in the catalog
  std::uint64_t wanted_bytes = 0, added_bytes = 0, unwanted_bytes = 0, again_bytes = 0;
  bool operator==(const CacheFileRecord&) const = default;
};

// Whole pages of the data set's files. NULL: this kernel does not tell.
struct CacheRecord {
  Maybe<double> hit_share;         // of wanted_bytes: nobody had to fetch it; NULL: none goes there
  std::uint64_t wanted_bytes = 0;  // with a byte that the run delivers
  std::uint64_t added_bytes = 0;   // put into the page cache
  std::uint64_t unwanted_bytes = 0;  // of these: read ahead, or by others, and for nothing here
  std::uint64_t again_bytes = 0;     // of these: had been evicted since the begin
  std::uint64_t evicted_bytes = 0;
  Maybe<std::uint64_t> inodes_loaded, inodes_evicted;  // by this process; of the filesystem
  Maybe<std::uint64_t> dentries_loaded;                // by this process
  Maybe<std::uint64_t> shrinker_freed;  // dentries and inodes of the filesystem, for anybody
  // Of the data set's files, by anybody: reads that asked, because they found nothing or reached
  // the mark of a window; windows opened and their pages, those that were there already, too.
  Maybe<std::uint64_t> readahead_sync, readahead_async, readahead_windows, readahead_bytes;
  // For want of memory, by threads of this process: times, time, what they gave back.
  Maybe<std::uint64_t> reclaims, reclaimed_bytes;
  Maybe<std::int64_t> reclaim_ns;
  Maybe<std::uint64_t> kswapd_wakes;  // of the whole node
  std::uint64_t lost_events = 0;
  std::vector<CacheSeriesPoint> series;
  std::vector<CacheFileRecord> files;  // the worst first
};

}  // namespace blksweep
