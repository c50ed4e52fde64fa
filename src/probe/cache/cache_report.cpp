#include "probe/cache/cache_report.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace blksweep {
namespace {

using Count = std::optional<std::uint64_t>;

class Known {
 public:
  explicit Known(const CacheMemory& memory) : memory_(memory) {}
  bool has(std::string_view program) const {
    return std::ranges::find(memory_.attached, program) != memory_.attached.end();
  }
  Count count(std::string_view program, std::uint64_t n) const {
    return has(program) ? Count(n) : std::nullopt;
  }

 private:
  const CacheMemory& memory_;
};

std::uint64_t ones(std::uint64_t bits) { return static_cast<std::uint64_t>(std::popcount(bits)); }

void add_inodes(const CacheMemory& memory, CacheReport& r) {
  const cache_probe_counts& c = memory.counts;
  const Known known(memory);
  if (memory.knows_inodes) {
    r.inodes_loaded = known.count("on_allocation", c.inodes_loaded);
  }
  if (memory.knows_dentries) {
    r.dentries_loaded = known.count("on_allocation", c.dentries_loaded);
  }
  for (const char* gone : {"on_inode_gone", "on_xfs_inode_gone", "on_btrfs_inode_gone"}) {
    if (known.has(gone)) {
      r.inodes_evicted = c.inodes_evicted;
    }
  }
  r.shrunk = known.count("on_shrunk", c.shrunk);
}

void add_windows(const CacheMemory& memory, CacheReport& r) {
  const cache_probe_counts& c = memory.counts;
  const Known known(memory);
  r.readahead_sync = known.count("on_readahead_sync", c.readahead_sync);
  r.readahead_async = known.count("on_readahead_async", c.readahead_async);
  if (known.has("on_window") && known.has("on_large_window")) {
    r.windows = c.windows;
    r.window_pages = c.window_pages;
  }
}

void add_reclaim(const CacheMemory& memory, CacheReport& r) {
  const cache_probe_counts& c = memory.counts;
  const Known known(memory);
  r.kswapd_wakes = known.count("on_kswapd", c.kswapd_wakes);
  if (known.has("on_reclaim") && known.has("on_reclaim_end")) {
    r.reclaims = c.reclaims;
    r.reclaimed = c.reclaimed;
    r.reclaim_ns = static_cast<std::int64_t>(c.reclaim_ns);
  }
}

FilePages pages_of(const CacheMemory& memory, std::size_t file) {
  const cache_probe_file& f = memory.files[file];
  const std::uint64_t words = (f.pages + CACHE_PROBE_WORD_PAGES - 1) / CACHE_PROBE_WORD_PAGES;
  FilePages sum{.file = file};
  for (const cache_probe_word& w : memory.words.subspan(f.first_word, words)) {
    sum.wanted += ones(w.wanted);
    sum.added += ones(w.added);
    sum.unwanted += ones(w.added & ~w.wanted);
    sum.again += ones(w.again);
  }
  return sum;
}

// The worst first: pages that were fetched for nothing, and twice.
std::vector<FilePages> worst_files(const CacheMemory& memory) {
  std::vector<FilePages> found;
  std::uint64_t next = 0;  // first word of the next file that is no second name
  for (std::size_t i = 0; i < memory.files.size(); ++i) {
    if (memory.files[i].first_word < next || memory.files[i].pages == 0) {
      continue;
    }
    const FilePages pages = pages_of(memory, i);
    next = memory.files[i].first_word + 1;
    if (pages.unwanted + pages.again > 0) {
      found.push_back(pages);
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const FilePages& p) { return p.unwanted + p.again; });
  found.resize(std::min(found.size(), memory.most_files));
  return found;
}

}  // namespace

CacheReport cache_report(const CacheMemory& memory) {
  CacheReport r;
  r.added = memory.counts.added;
  r.added_wanted = memory.counts.added_wanted;
  r.added_again = memory.counts.added_again;
  r.evicted = memory.counts.evicted;
  r.lost_events = memory.counts.untold;
  for (const cache_probe_word& w : memory.words) {
    r.wanted += ones(w.wanted);
    r.found += ones(w.wanted & ~w.added);
  }
  add_inodes(memory, r);
  add_windows(memory, r);
  add_reclaim(memory, r);
  r.files = worst_files(memory);
  return r;
}

}  // namespace blksweep
