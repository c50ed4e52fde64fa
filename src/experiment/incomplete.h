// A run that is not what its cell promises: kept, named, and left out of every figure.
#pragma once

#include <string>

#include "store/records.h"

namespace blksweep {

// Reasons add up, in the order in which they are found.
inline void mark_incomplete(RunRecord& run, const std::string& reason) {
  run.incomplete = true;
  run.incomplete_reason += (run.incomplete_reason.empty() ? "" : "; ") + reason;
}

}  // namespace blksweep
