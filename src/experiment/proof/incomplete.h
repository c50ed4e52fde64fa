// A run that is not what its cell promises: kept, named, and left out of every figure.
#pragma once

#include <fmt/format.h>

#include <string>

#include "store/records.h"

namespace blksweep {

// Reasons add up, in the order in which they are found.
inline void mark_incomplete(RunRecord& run, const std::string& reason) {
  run.incomplete = true;
  run.incomplete_reason += (run.incomplete_reason.empty() ? "" : "; ") + reason;
}

// How `error` begins of a sample that came, but is not what its file holds.
inline constexpr const char* kVerify = "verify: ";
inline constexpr const char* kDecode = "decode: ";
inline constexpr const char* kCheck = "check: ";  // of the pieces that are always compared

// Of the samples that did not come (`came` false) or that are wrong the first that is named, in
// brackets; "": none is.
inline std::string first_failed(const RunRecord& run, bool came) {
  for (const FailedSample& f : run.failed) {
    const bool wrong = f.error.starts_with(kVerify) || f.error.starts_with(kDecode);
    if (wrong == came && !f.error.starts_with(kCheck)) {
      return fmt::format(" (first: {}: {})", f.path, f.error);
    }
  }
  return "";
}

}  // namespace blksweep
