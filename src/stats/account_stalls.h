// The stalls of one lane by cause (stats/account.h).
//
// Rule: at an instant at which the lane is not busy, it waits for the batch that it will begin
//       next; the cause is where that batch is at this instant. The read lane's next batch is
//       nowhere yet: while the reader waits for memory, the cause is where the oldest batch is that
//       holds it.
// Cost: linear in batches and waits, but for binary searches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/account.h"

namespace blksweep {

class StallFinder {
 public:
  explicit StallFinder(const AccountInput& input);
  std::array<std::int64_t, kStalls> of(Stage lane) const;

 private:
  using Stalls = std::array<std::int64_t, kStalls>;
  const IntervalSet& busy(Stage lane) const { return busy_[static_cast<std::size_t>(lane)]; }
  void of_read_lane(const TimeSpan& idle, Stalls& out) const;
  void of_gap(Stage lane, const TimeSpan& idle, Stalls& out) const;
  void of_wait_for(const BatchTimes& batch, const TimeSpan& wait, Stalls& out) const;
  void unread(const TimeSpan& wait, Stalls& out) const;
  void behind(std::size_t lane, const TimeSpan& wait, Stalls& out) const;
  void of_memory(const MemoryWait& wait, Stalls& out) const;

  const AccountInput& in_;
  std::array<IntervalSet, kLanes> busy_;
  std::array<std::vector<std::uint32_t>, kLanes> by_begin_;  // batches that the lane carries
  IntervalSet waits_;
  std::vector<std::uint32_t> by_consumed_;
  std::vector<std::int64_t> given_back_;  // [n]: when the first n batches all were
  TimeSpan reading_;                      // first submission to last byte of the epoch
};

}  // namespace blksweep
