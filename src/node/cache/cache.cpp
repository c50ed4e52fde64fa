#include "node/cache/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/fd.h"
#include "dataset/data_files.h"
#include "node/cache/drop.h"
#include "node/cache/warm.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

// Without root: the data goes, as far as it is clean; metadata stays.
void evict_data(const Catalog& catalog) {
  const Result<DataFiles> data = DataFiles::open_root(catalog);
  std::string scratch;
  for (std::uint32_t f = 0; data && f < catalog.files.size(); ++f) {
    if (const Fd fd(std::max(data->open(f, 0, scratch), -1)); fd) {
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

}  // namespace

Result<> drop_all() { return drop_node(DropKind::all); }

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

Result<CacheChange> drop_after(CacheChange warmed, const Catalog& catalog, DropKind kind) {
  CacheChange change = std::move(warmed);
  BLKSWEEP_CHECK(drop_node(kind));
  change.after = measure(catalog);
  if (kind == DropKind::inodes) {
    BLKSWEEP_CHECK(drop_node(kind));
    change.metadata_cold = true;
  }
  return change;
}

CacheChange warm(const Catalog& catalog) {
  CacheChange change;
  change.before = measure(catalog);
  std::atomic<std::uint64_t> at{0};
  const WarmOutcome warmed = warm_pieces(warm_job(catalog), stop_requested(), at);
  if (warmed.failed > 0) {
    change.warnings.push_back(fmt::format("cache: {} of the reads for warming failed: {}",
                                          warmed.failed, warmed.first_error));
  }
  change.after = measure(catalog);
  if (const auto share = change.after.share(); share && *share < 1.0) {
    change.warnings.push_back(fmt::format(
        "cache: {} of {} are in the page cache after reading everything (memory or its cgroup "
        "limit is too small, or files are unreadable); the run is not fully warm",
        format_bytes({change.after.resident_bytes}), format_bytes({change.after.bytes})));
  }
  return change;
}

}  // namespace blksweep
