// Who takes pages out of memory before it is short: warm data then leave in mid-run.
//
// Returns: a text each, "DAMON (kdamond 0: pageout)"; none where nobody does, or none can be seen.
// Source:  Documentation/admin-guide/mm/damon/{usage,reclaim}.rst.
// Threads: any.
#pragma once

#include <string>
#include <vector>

namespace blksweep {

std::vector<std::string> early_reclaimers(const std::string& sys = "/sys");

}  // namespace blksweep
