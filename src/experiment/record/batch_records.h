// What an epoch that ran says of its batches, as its record keeps it.
//
// Units:   nanoseconds of CLOCK_MONOTONIC.
// Threads: after Epoch::run() has returned.
#pragma once

#include "loader/epoch.h"
#include "store/records.h"

namespace blksweep {

// Sets batches (those that were consumed: an interrupted run has fewer than its schedule),
// read_waits, copy_cost and the accelerator's work for these batches.
void record_batches(RunRecord& run, const Catalog& catalog, const PlannedEpoch& planned,
                    const Epoch& epoch);

}  // namespace blksweep
