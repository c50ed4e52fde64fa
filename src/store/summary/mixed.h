// What is not the same in all runs of a cell, so that a number of all would be of neither.
//
// Threads: pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/result_reader.h"

namespace blksweep {

// Whether the newest predictions are of one model: one name may have had two texts.
bool predicted_alike(std::span<const StoredRun* const> runs);

// In a line each, without the cell's label; empty: nothing is mixed.
std::vector<std::string> mixed_in(std::span<const StoredRun* const> runs);

}  // namespace blksweep
