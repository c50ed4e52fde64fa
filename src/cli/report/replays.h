// The replays of a database: what `report` says of them beside runs, or where there are none.
#pragma once

#include <string>
#include <vector>

#include "store/export/json.h"
#include "store/result_reader.h"

namespace blksweep {

// A rate stands only beside a verdict that bears one.
std::string replays_text(const std::vector<StoredReplay>& replays);
Json replays_json(const std::vector<StoredReplay>& replays);

}  // namespace blksweep
