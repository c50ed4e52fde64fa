// Depth and prefetch where a loader's caller names none.
//
// A reader that is as far ahead as it may be looks again when a read completes. With everything
// that it may be ahead in flight it would stand still, and the device with it, until somebody has
// consumed what came: so half of it is in flight, and the other half is ready. And no more than
// that keeps a device busy: what came long ago is no longer in a cache when it is consumed
// (docs/performance.md).
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "loader/settings.h"
#include "plan/catalog.h"
#include "plan/plan.h"

namespace blksweep {

inline constexpr std::uint32_t kMostChosenDepth = 32;
inline constexpr std::uint32_t kLeastChosenPrefetch = 4;

// Batches: as many bytes as eight long reads have, and kLeastChosenPrefetch at least.
std::uint32_t chosen_prefetch(const Catalog& catalog, const LoaderSettings& settings);

// Reads: half of what settings.prefetch lets ahead, from 2 to kMostChosenDepth; all of these for
// merge=kernel, which submits groups.
std::uint32_t chosen_depth(const Plan& plan, const LoaderSettings& settings);

}  // namespace blksweep
