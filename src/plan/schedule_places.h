// Places: gives every parcel of a schedule its place in the arena and derives the gates.
//
// The epoch is simulated read by read. A parcel gets its place when the first read that touches it
// comes; it is free again when the batch with the last of its samples is consumed. The simulation
// consumes a batch only when the prefetch bound says so or when a parcel finds no room, so each
// gate waits for as little as possible. A batch that needs reads which are not submitted yet is
// never waited for; then the arena grows instead.
//
// Prefetch: reading runs ahead of consumption by the samples that the window holds and `prefetch`
//          batches. While a window drains at the end of an epoch the next one fills at the same
//          pace; waiting for the drain leaves the device idle, and is what epochs_apart asks for.
//
// In place: of a reservoir whose samples are delivered where they were read (plan/in_place.h) a
//          place is a row, free again with its batch, and an arrival waits for its row's batch.
//
// Errors:  an arena above 2 TiB (32-bit slots) is a usage error.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "plan/schedule.h"

namespace blksweep {

struct PlaceSettings {
  std::uint32_t granule;                // bytes
  std::span<const std::uint32_t> held;  // as Emission.held
};

// Fills slot, gates and arena; emission and batch_begin are there already.
Result<> place_parcels(const Plan& plan, const ShuffleSettings& settings,
                       const PlaceSettings& places, Schedule& schedule);

}  // namespace blksweep
