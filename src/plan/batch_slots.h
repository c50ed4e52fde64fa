// Batch slots: the memory of readers that take a whole batch at a time (loader/worker_reader.h).
//
// Batch b lies in slot b % slots, its parcels one behind the other; all slots are as large as the
// largest batch. So a batch may be read once the one that had its slot is consumed, whoever reads
// it, and `slots` batches are in memory at most.
//
// Property: the gates say just that, for readers in the plan's order, which is that of emission.
// Errors:   an arena above 2 TiB (32-bit slots) is a usage error.
// Threads:  pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/schedule.h"

namespace blksweep {

struct BatchSlots {
  std::uint32_t slots = 1;
  std::uint32_t granule = kSlotUnit;  // bytes that parcels are rounded up to
};

// How many batches must be consumed before this one may have its slot.
constexpr std::uint32_t consumed_before(std::uint32_t batch, std::uint32_t slots) {
  return batch < slots ? 0 : batch - slots + 1;
}

// Fills slot, gates, arena and window_peak; emission (in the order of positions) and batch_begin
// are there already. REQUIRES: no parcel is shared.
Result<> place_batches(const Plan& plan, const BatchSlots& slots, Schedule& schedule);

// The reads of each batch: batch b has those from entry b up to entry b + 1.
std::vector<std::uint32_t> reads_by_batch(const Plan& plan, const Schedule& schedule);

}  // namespace blksweep
