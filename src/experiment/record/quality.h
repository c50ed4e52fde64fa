// Shuffle quality of the first epoch of what was really emitted (docs/measurement.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loader/planned_epoch.h"
#include "plan/plan.h"
#include "store/records.h"

namespace blksweep {

// Sample -> its place in the sequence that `order` would give every epoch if nothing were drawn at
// random: its own where that is fixed, else the order on the device.
std::vector<std::uint32_t> reference_rank(const Catalog& catalog, Order order);

QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedEpoch& planned,
                         std::span<const std::uint32_t> emitted);

}  // namespace blksweep
