// What the requests of cells say beside their figures: what became of the order, what the disk
// read, and what became of the page cache.
//
// Threads: pure.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "store/result_reader.h"
#include "store/summary/summary.h"

namespace blksweep {

// The classes of request_class that are of reads: their bytes are all that the disk read.
inline constexpr std::array kReadKinds = {"samples",  "read_ahead", "gaps",
                                          "metadata", "other",      "elsewhere"};

// CellSummary::read_for of its runs.
std::vector<std::pair<std::string, double>> read_for(const std::vector<const StoredRun*>& runs);

// CellSummary::page_cache of its runs: medians.
std::string page_cache_text(const std::vector<const StoredRun*>& runs);

// A line for all cells of which the same is true.
std::string request_notes(const std::vector<CellSummary>& cells);

}  // namespace blksweep
