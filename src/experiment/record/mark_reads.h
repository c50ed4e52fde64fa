// Which read of the plan each request of a run was for, and which batch of its schedule waits for
// it first.
//
// Of:      a request that is one read, or a part of one, is that read's, whatever else lies there:
//          a read of the device that bridges a gap covers samples that other reads deliver. One
//          that joins several is the first's, and of the first batch that waits for any of them.
// Unknown: requests of nobody; all of them with several epochs (a block is in the plan more than
//          once) or without addresses. Of a read that lies within another one's gap, parts that
//          were split off the outer one there are taken for its own.
// Threads: pure.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "plan/schedule.h"
#include "store/records.h"

namespace blksweep {

void mark_reads(std::vector<IssuePoint>& points, const Catalog& catalog, const Plan& plan,
                const Schedule& schedule);

}  // namespace blksweep
