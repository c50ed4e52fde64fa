// Epochs of ranks in a database: what `report` says of them beside runs, or where there are none.
#pragma once

#include <string>
#include <vector>

#include "store/export/json.h"
#include "store/result_reader.h"

namespace blksweep {

// Efficiency: per rank, against the median of complete ones of the same settings with one rank,
// by the same program on the same machine (of rank 0), that had as much from caches.
std::string ranks_text(const std::vector<StoredRanks>& all);
Json ranks_json(const std::vector<StoredRanks>& all);

}  // namespace blksweep
