// What a cell has and a prediction (simulate/simulate_epoch.h) has not, in words.
#pragma once

#include <string>
#include <vector>

#include "experiment/cell.h"
#include "plan/plan.h"

namespace blksweep {

// Empty when nothing matters. Threads: pure.
std::vector<std::string> prediction_notes(const CellSettings& cell, const Plan& plan);

}  // namespace blksweep
