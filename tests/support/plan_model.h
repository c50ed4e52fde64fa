// An independent reading of plans and schedules: carries them out on a model of files, device and
// memory, and says in words what is wrong ("" when nothing is).
#pragma once

#include <string>

#include "plan/plan.h"
#include "plan/schedule.h"
#include "support/synthetic_catalog.h"

namespace blksweep::support {

// Every byte of every sample lands where parcel and head say, exactly once; reads are aligned and
// not longer than allowed; gaps are bridged only as far as allowed.
std::string check_plan(const SyntheticCatalog& data, const Plan& plan,
                       const MergeSettings& settings);

// Replays reads and batches under the gates with a consumer that is as slow as the gates allow:
// live parcels never overlap, no gate waits for a batch that needs a later read, and each emission
// finds its own parcel where it is delivered from, exchanges made.
std::string check_schedule(const Plan& plan, const Schedule& schedule);

}  // namespace blksweep::support
