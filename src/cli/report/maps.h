// The latency maps of a database that has no runs: what `report` then answers.
#pragma once

#include <string>
#include <vector>

#include "store/export/json.h"
#include "store/result_reader.h"

namespace blksweep {

std::string maps_text(const std::vector<StoredMap>& maps);
Json maps_json(const std::vector<StoredMap>& maps);

}  // namespace blksweep
