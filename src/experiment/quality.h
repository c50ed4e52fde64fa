// Shuffle quality of the first epoch of what was really emitted (docs/measurement.md).
#pragma once

#include <cstdint>
#include <span>

#include "loader/planned_epoch.h"
#include "plan/plan.h"
#include "store/records.h"

namespace blksweep {

QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedEpoch& planned,
                         std::span<const std::uint32_t> emitted);

}  // namespace blksweep
