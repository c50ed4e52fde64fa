// How much room decoded batches need, from the index of a packed data set.
//
// Errors:  the data set has no index (it was not packed, or its folder is not the packed one), or
//          holds a sample that the index does not know.
// Threads: called where the epoch is prepared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/catalog.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace blksweep {

// What the index says of each sample, in the order of emission: the parts of batch b are
// [batch_begin[b], batch_begin[b + 1]) of it, those that cannot be read included.
Result<std::vector<std::uint64_t>> decoded_by_emission(const Catalog& catalog, const Plan& plan,
                                                       const Schedule& schedule);

// As they are stored, for a stage that leaves them so.
Result<std::vector<std::uint64_t>> stored_by_emission(const Catalog& catalog, const Plan& plan,
                                                      const Schedule& schedule);

Bytes largest_decoded_batch(std::span<const std::uint64_t> by_emission, const Schedule& schedule);

}  // namespace blksweep
