// A source whose addresses are those of its files now, just before a run.
//
// Errors:  a catalog file whose extents have moved, other files.
// Threads: one owner.
#pragma once

#include <string>
#include <vector>

#include "loader/address_proof.h"

namespace blksweep {

// Made anew where its files were moved; what was done about it, for the run's warnings.
Result<std::vector<std::string>> settle_addresses(Source& source, AddressProof& proof);

}  // namespace blksweep
