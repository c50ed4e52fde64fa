// The ceiling of one round of an experiment, over the data set's own extents as they are now.
//
// Errors, threads: as experiment/ceiling.h. REQUIRES: the source has a device.
#pragma once

#include <atomic>
#include <cstdint>

#include "experiment/ceiling.h"
#include "loader/source.h"

namespace blksweep {

struct CeilingRound {
  std::uint64_t seed = 1;
  std::uint32_t round = 0;
  bool cold = false;  // runs are: a page cache below the device is emptied first
  const std::atomic<bool>* interrupt = nullptr;
};

Ceiling ceiling_of_round(const Source& source, const CeilingRound& round);

}  // namespace blksweep
