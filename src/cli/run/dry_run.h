// What a run would do: cells, runs, what is there of them, the time that is to be expected, disk
// space. Nothing is made, mounted or measured.
//
// Time:    of runs that are left, from the newest runs of equal cells under the same label in the
//          database (with all that lies between them); else, of data that the spec makes for an
//          emulated disk, as simulated, of reading alone; else unknown, which is null in JSON.
#pragma once

#include "base/result.h"
#include "cli/run/campaign.h"

namespace blksweep {

Result<Exit> dry_run(const CampaignPlan& plan);

}  // namespace blksweep
