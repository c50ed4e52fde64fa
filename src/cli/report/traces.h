// The traces of a database, as `trace stat --db` kept them: what `report` says of them.
#pragma once

#include <string>
#include <vector>

#include "store/export/json.h"
#include "store/result_reader.h"

namespace blksweep {

std::string traces_text(const std::vector<StoredTrace>& traces);
Json traces_json(const std::vector<StoredTrace>& traces);

}  // namespace blksweep
