// What a run is judged by when its cell asks for a state of the caches (docs/measurement.md).
//
// The decisions themselves are pure, in experiment/proof/cold_proof.h; here they get what this run
// saw.
#pragma once

#include "experiment/measure.h"

namespace blksweep {

// Whether what the run reads is read by this process itself, and so counted as its own.
bool reads_itself(const RunRequest& request);

// Who keeps inodes of a cold run's files, where it opens any; one that pins them itself has them.
void look_for_holders(StartState& start, const RunRequest& request);

// `whole`: nothing cut the run off. One that was has not read everything: only how it began is
// judged then.
void judge_caches(RunRecord& run, const RunRequest& request, const StartState& start, bool whole);

}  // namespace blksweep
