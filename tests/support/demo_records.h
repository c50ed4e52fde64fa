// Made-up but plausible records for tests of the store and the report.
#pragma once

#include <cstdint>
#include <string>

#include "store/records.h"

namespace blksweep {

HostRecord demo_host();
CellRecord demo_cell(const std::string& order, const std::string& merge);
// Every field is set and differs from its default.
RunRecord demo_run(std::uint32_t repeat);

}  // namespace blksweep
