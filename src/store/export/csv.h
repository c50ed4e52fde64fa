// CSV of a summary and of its runs (RFC 4180: comma, quotes doubled, LF); unknown is an empty
// field.
//
// Columns: docs/results-schema.md. Cell settings come as one column each, the union of all cells.
#pragma once

#include <string>
#include <vector>

#include "store/summary/summary.h"

namespace blksweep {

// One line per cell: what the figures draw.
std::string cells_csv(const std::vector<CellSummary>& cells);
// One line per run, incomplete ones too; `counted` says which the summary counts.
std::string runs_csv(const std::vector<CellSummary>& cells, const std::vector<StoredRun>& runs);

}  // namespace blksweep
