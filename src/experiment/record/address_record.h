// What is stored of a run's addresses.
#pragma once

#include <string>

#include "experiment/proof/incomplete.h"
#include "loader/address_proof.h"
#include "store/records.h"

namespace blksweep {

// What changed makes the run incomplete.
inline void record_addresses(const AddressFindings& found, RunRecord& run) {
  for (const std::string& why : found.wrong) {
    mark_incomplete(run, why);
  }
  run.warnings.insert(run.warnings.end(), found.unsure.begin(), found.unsure.end());
  if (!found.state.empty()) {
    run.addresses = found.state;
  }
  if (!found.layout.empty()) {
    run.layout = found.layout;
    run.address_check_ns = found.ns;
  }
}

}  // namespace blksweep
