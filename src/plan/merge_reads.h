// ReadBuilder: turns segments into reads and pieces, coalescing as the merge policy says.
//
// Segments are appended to the plan's reads in the order they are given, except where the policy
// sorts: `kernel` inside groups of `batch` reads, `device` inside horizons.
//
// Ownership: writes into a Plan that outlives it. finish() must be called once, last.
// Threads:   one owner.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/order_sort.h"
#include "plan/plan.h"
#include "plan/plan_segments.h"

namespace blksweep {

// Pieces per read: each may need an iovec for itself and one for a bridged gap before it, and
// UIO_MAXIOV, the most that one readv takes, is 1024.
inline constexpr std::uint32_t kMaxPieces = 512;

class ReadBuilder {
 public:
  ReadBuilder(Plan& plan, const MergeSettings& settings);
  void add(const Segment& segment);
  // What comes is not sorted together with what was: the order begins another run on the device.
  void end_horizon() { flush_horizon(); }
  void finish();

  // No read may be longer: settings.max in whole blocks, and what the kernel takes in one call.
  static std::uint32_t max_bytes(const MergeSettings& settings);

 private:
  void place(const Segment& segment);
  void place_part(const Segment& part);
  bool joins(const Segment& part) const;
  void append(const Segment& part);
  void start_read(const Segment& part);
  void sort_group();
  void flush_horizon();

  Plan& plan_;
  const MergeSettings& settings_;
  std::uint32_t max_;
  std::uint64_t end_ = 0;          // where the last piece of the open read ends, in its source
  std::vector<SortKey> group_;     // kernel: addresses of the reads in the open group
  std::vector<Read> group_reads_;  // kernel: room for reordering
  std::vector<Piece> group_pieces_;
  std::vector<Segment> horizon_;  // device: segments that wait to be sorted
  std::vector<SortKey> horizon_keys_;
  std::vector<SortKey> scratch_;
  std::uint64_t horizon_bytes_ = 0;
};

}  // namespace blksweep
