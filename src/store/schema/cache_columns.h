// Columns of the tables page_cache and page_cache_file, as run_columns.h has those of a run.
#pragma once

#include "store/cache_records.h"

namespace blksweep {

template <class Cache, class F>
void each_page_cache_column(Cache& c, F&& f) {
  f("hit_share", c.hit_share);
  f("wanted_bytes", c.wanted_bytes);
  f("added_bytes", c.added_bytes);
  f("unwanted_bytes", c.unwanted_bytes);
  f("again_bytes", c.again_bytes);
  f("evicted_bytes", c.evicted_bytes);
  f("inodes_loaded", c.inodes_loaded);
  f("inodes_evicted", c.inodes_evicted);
  f("dentries_loaded", c.dentries_loaded);
  f("shrinker_freed", c.shrinker_freed);
  f("readahead_sync", c.readahead_sync);
  f("readahead_async", c.readahead_async);
  f("readahead_windows", c.readahead_windows);
  f("readahead_bytes", c.readahead_bytes);
  f("reclaims", c.reclaims);
  f("reclaimed_bytes", c.reclaimed_bytes);
  f("reclaim_ns", c.reclaim_ns);
  f("kswapd_wakes", c.kswapd_wakes);
  f("lost_events", c.lost_events);
}

template <class File, class F>
void each_page_cache_file_column(File& x, F&& f) {
  f("path", x.path);
  f("wanted_bytes", x.wanted_bytes);
  f("added_bytes", x.added_bytes);
  f("unwanted_bytes", x.unwanted_bytes);
  f("again_bytes", x.again_bytes);
}

}  // namespace blksweep
