// How much memory an epoch needs beside its window, in bytes of parcels.
//
// `granule`: what each parcel is rounded up to. Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/schedule.h"

namespace blksweep {

// Shared parcels only (else empty): samples per parcel.
std::vector<std::uint32_t> count_users(const Plan& plan);

// Direct reads of whole blocks keep whole blocks in the arena; anything else gets 512-byte units.
std::uint32_t granule_of(const Plan& plan);

// All parcels of all epochs.
std::uint64_t all_parcels(const Plan& plan, std::uint32_t granule);

// Bytes of the reads that no gate parts.
std::uint64_t largest_group(const Plan& plan);

// For the queue, and the batches that are ready, being copied and being consumed. Of the queue no
// more than the prefetch bound lets ahead: memory that nothing reads into costs its pages, and what
// is used again soon is in the cache. `users`: of count_users().
std::uint64_t room_beside_window(const Plan& plan, const Schedule& schedule,
                                 const ShuffleSettings& settings, std::uint32_t granule,
                                 std::span<const std::uint32_t> users);

}  // namespace blksweep
