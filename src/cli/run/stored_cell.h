// Stored cells as values again.
#pragma once

#include "base/result.h"
#include "experiment/cell.h"
#include "store/records.h"

namespace blksweep {

// The settings of a stored cell as values; "disk" and other words that are no option are left out,
// and what means nothing in the cell.
Result<CellSettings> stored_settings(const CellRecord& cell);

}  // namespace blksweep
