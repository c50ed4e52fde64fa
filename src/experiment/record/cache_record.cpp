#include "experiment/record/cache_record.h"

#include "plan/plan_segments.h"

namespace blksweep {
namespace {

constexpr std::uint64_t in_bytes(std::uint64_t pages) { return pages * kPageBytes; }
Maybe<std::uint64_t> in_bytes(const std::optional<std::uint64_t>& pages) {
  return pages ? Maybe<std::uint64_t>(in_bytes(*pages)) : std::nullopt;
}

Maybe<double> hit_share(const CacheReport& report) {
  return report.wanted > 0
             ? Maybe<double>(static_cast<double>(report.found) / static_cast<double>(report.wanted))
             : std::nullopt;
}

// A hole is filled with zeros and not read: its pages are no more found than fetched.
void want_data(CacheProbe& probe, const Catalog& catalog, const Sample& s) {
  const SegmentRules rules{.align = kPageBytes};
  const std::uint64_t from = align_down(s.offset, kPageBytes);
  const SegmentRange range{s.file, from, from, align_up(s.offset + s.length, kPageBytes)};
  for_each_segment(catalog, rules, range, [&](const Segment& segment) {
    if (segment.source != kZeros) {
      probe.want(s.file, segment.begin, segment.length);
    }
  });
}

}  // namespace

void want_samples(CacheProbe& probe, const Catalog& catalog, const Plan& plan) {
  probe.want_nothing();
  const std::size_t of_one_epoch = plan.order.size() / plan.epochs;  // the others have the same
  for (std::size_t i = 0; i < of_one_epoch; ++i) {
    const Sample s = catalog.sample(plan.order[i]);
    if (s.length > 0) {
      want_data(probe, catalog, s);
    }
  }
}

CacheRecord cache_record(const CacheReport& report, const CacheReading& reading,
                         const Catalog& catalog) {
  CacheRecord r;
  r.hit_share = reading.by_page_cache ? hit_share(report) : std::nullopt;
  r.wanted_bytes = in_bytes(report.wanted);
  r.added_bytes = in_bytes(report.added);
  r.unwanted_bytes = in_bytes(report.added - report.added_wanted);
  r.again_bytes = in_bytes(report.added_again);
  r.evicted_bytes = in_bytes(report.evicted);
  r.inodes_evicted = report.inodes_evicted;
  r.shrinker_freed = report.shrunk;
  r.readahead_sync = report.readahead_sync;
  r.readahead_async = report.readahead_async;
  r.readahead_windows = report.windows;
  r.readahead_bytes = in_bytes(report.window_pages);
  r.kswapd_wakes = report.kswapd_wakes;
  r.lost_events = report.lost_events;
  if (reading.by_this_process) {
    r.inodes_loaded = report.inodes_loaded;
    r.dentries_loaded = report.dentries_loaded;
    r.reclaims = report.reclaims;
    r.reclaim_ns = report.reclaim_ns;
    r.reclaimed_bytes = in_bytes(report.reclaimed);
  }
  for (const CachePoint& p : report.series) {
    r.series.push_back({p.at_ns, in_bytes(p.added), in_bytes(p.added_wanted),
                        in_bytes(p.added_again), in_bytes(p.evicted), p.inodes_loaded,
                        p.inodes_evicted, p.shrunk});
  }
  for (const FilePages& f : report.files) {
    const auto path = catalog.path(static_cast<std::uint32_t>(f.file));
    r.files.push_back({std::string(path), in_bytes(f.wanted), in_bytes(f.added),
                       in_bytes(f.unwanted), in_bytes(f.again)});
  }
  return r;
}

}  // namespace blksweep
