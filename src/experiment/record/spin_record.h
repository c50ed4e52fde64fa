// The CPU's speed around a run: fixed work before and after it, kept with what else was watched.
//
// Threads: pure.
#pragma once

#include "os/noise.h"
#include "store/records.h"

namespace blksweep {

// Nothing where one of both is unknown.
void record_spin(RunRecord& run, const Maybe<SpinTime>& before, const Maybe<SpinTime>& after);

}  // namespace blksweep
