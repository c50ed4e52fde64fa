#include "experiment/proof/judge_caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/proof/cold_proof.h"
#include "experiment/proof/incomplete.h"
#include "os/block/disk_use.h"
#include "os/block/own_reads.h"

namespace blksweep {
namespace {

bool is_direct(const RunRequest& q) {
  return (q.cell.direct && q.source.direct_possible) || q.cell.merge == Merge::device;
}

bool many_disks(const RunRequest& q) {
  return q.source.mount && q.source.mount->filesystem == "btrfs";
}

// Of the data: what a pin keeps resident is meant to be.
double pinned_share(const RunRequest& q) {
  const std::uint64_t all = q.source.catalog.bytes().n;
  return all == 0 ? 0 : static_cast<double>(q.node.pinned_bytes()) / static_cast<double>(all);
}

void take(RunRecord& r, const CacheVerdict& v) {
  if (!v.incomplete.empty()) {
    mark_incomplete(r, v.incomplete);
  }
  if (!v.warning.empty()) {
    r.warnings.push_back(v.warning);
  }
}

CacheVerdict cold_verdict(RunRecord& r, const RunRequest& q, const StartState& start, bool whole) {
  const bool direct = is_direct(q);
  const std::uint64_t expected = expected_device_bytes(q.source.catalog, q.planned.plan, direct);
  const std::uint64_t unplaced = unplaced_bytes(q.source.catalog);
  if (expected > 0 || unplaced == 0) {
    r.device_bytes_expected = expected;
  }
  return judge_cold({.bytes = q.source.catalog.bytes().n,
                     .resident = start.resident,
                     .unexamined = start.unexamined,
                     .pinned_share = pinned_share(q),
                     .pinned_bytes = q.node.pinned_bytes(),
                     .own_bytes = whole ? r.own_read_bytes : std::nullopt,
                     .device_bytes = whole ? r.device_bytes : std::nullopt,
                     .expected = expected,
                     .unplaced = unplaced,
                     .direct = direct,
                     .one_disk = q.reader != nullptr && !many_disks(q)});
}

// Direct reads pass warm pages by: what is warm for them are inodes, folders and extent maps. Read
// beside the plan, they had left memory.
CacheVerdict warm_metadata_verdict(const RunRecord& r, const RunRequest& q) {
  constexpr double kMore = 1.02;
  constexpr double kFew = 256 << 10;
  std::uint64_t planned = 0;
  for (const Read& read : q.planned.plan.reads) {
    planned += read.source == kZeros ? 0 : read.length;
  }
  const bool more = r.own_read_bytes && static_cast<double>(*r.own_read_bytes) >
                                            kMore * static_cast<double>(planned) + kFew;
  return !more ? CacheVerdict{}
               : CacheVerdict{
                     fmt::format("not warm: {} were read where the plan has {}: metadata had left "
                                 "memory (somebody dropped the caches?)",
                                 format_bytes({*r.own_read_bytes}), format_bytes({planned})),
                     ""};
}

// A limit of the cell's own evicts by intent.
CacheVerdict warm_verdict(const RunRecord& r, const RunRequest& q) {
  if (!opens_files(q.planned.plan) || q.node.limits_memory()) {
    return {};
  }
  if (is_direct(q)) {
    return warm_metadata_verdict(r, q);
  }
  return judge_warm({.bytes = r.bytes,
                     .resident = r.resident_before,
                     .own_bytes = r.own_read_bytes,
                     .device_bytes = r.device_bytes,
                     .reads = r.reads_submitted.value_or(0),
                     .requests = r.device_reads,
                     .one_disk = !many_disks(q)});
}

// Of a run that was cut off it is not known whether it came to its second epoch.
CacheVerdict direct_verdict(const RunRecord& r, const RunRequest& q, bool whole) {
  if (!is_direct(q) || !opens_files(q.planned.plan)) {
    return {};
  }
  std::uint64_t bytes = 0;
  for (const FileRecord& f : q.source.catalog.files) {
    bytes += f.size;
  }
  return judge_direct({.bytes = bytes,
                       .indirect_bytes = indirect_bytes(q.source.catalog),
                       .resident_before = r.resident_before,
                       .resident_after = r.resident_after,
                       .delivered = r.bytes,
                       .own_bytes = whole ? r.own_read_bytes : std::nullopt,
                       .epochs = whole ? q.cell.epochs : 1,
                       .cold = q.cell.cache == CacheState::cold});
}

CacheVerdict inode_verdict(RunRecord& r, const StartState& start) {
  if (!start.holders) {
    return {};
  }
  const InodeHolders& found = *start.holders;
  if (found.unseen == 0) {
    r.inodes_held = found.held;
  }
  return judge_inodes(found);
}

void warn_of_others(RunRecord& r, const RunRequest& q) {
  if (!r.others_read_bytes) {
    return;
  }
  const std::string text =
      others_warning(q.source.device->disk, {.own_bytes = *r.own_read_bytes,
                                             .other_bytes = *r.others_read_bytes,
                                             .reads = r.device_reads.value_or(0)});
  if (!text.empty()) {
    r.warnings.push_back(text);
  }
}

}  // namespace

bool reads_itself(const RunRequest& q) {
  const bool foreign = q.source.mount && others_read_for_us(q.source.mount->filesystem);
  return !foreign || !opens_files(q.planned.plan);
}

void look_for_holders(StartState& start, const RunRequest& q) {
  if (q.cell.cache != CacheState::cold || q.cell.node.pin_inodes || !opens_files(q.planned.plan)) {
    return;
  }
  std::vector<ino_t> inodes(q.source.catalog.files.size());
  std::ranges::transform(q.source.catalog.files, inodes.begin(), &FileRecord::inode);
  start.holders = inode_holders(std::string(q.source.catalog.root), std::move(inodes));
}

void judge_caches(RunRecord& r, const RunRequest& q, const StartState& start, bool whole) {
  if (q.cell.cache == CacheState::cold) {
    take(r, cold_verdict(r, q, start, whole));
    take(r, inode_verdict(r, start));
  } else if (q.cell.cache == CacheState::drop_pages) {
    take(r, cold_verdict(r, q, start, whole));
  } else if (q.cell.cache == CacheState::warm) {
    take(r, warm_verdict(r, q));
  }
  take(r, direct_verdict(r, q, whole));
  warn_of_others(r, q);
}

}  // namespace blksweep
