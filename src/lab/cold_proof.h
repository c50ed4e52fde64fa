// Whether a run that was to start cold did, and whether the device really gave its bytes.
//
// Expected: what the device must read at least, extent by extent: plain extents only. Holes and
//          unwritten or inline extents need no device, and what compressed ones need is not known.
//          Direct reads take each byte from it, in every epoch; buffered ones once, and then from
//          the page cache that the run itself has filled.
// Unknown: residency that could not be examined is no residency of 0.
// Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/residency.h"
#include "plan/plan.h"

namespace blksweep {

std::uint64_t expected_device_bytes(const Catalog& catalog, const Plan& plan, bool direct);

// The resident share; unknown where a file could not be examined, or where there are no bytes.
std::optional<double> known_share(const Residency& r);
// Why it is not known; empty when it is.
std::string unexamined(const Residency& r);

struct ColdStart {
  std::uint64_t bytes = 0;         // of the data
  std::optional<double> resident;  // before the run
  std::string unexamined;          // why that is unknown
  double pinned_share = 0;         // that is meant to be resident
  std::uint64_t pinned_bytes = 0;
  std::optional<std::uint64_t> device_bytes;  // that the device read; unknown without statistics
  std::uint64_t expected = 0;
  bool direct = true;
};

struct ColdVerdict {
  std::string incomplete;  // why the run is; empty: it is not
  std::string warning;
};
ColdVerdict judge_cold(const ColdStart& start);

}  // namespace blksweep
