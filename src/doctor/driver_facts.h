// What the CUDA driver says of the node: asked without the toolkit, so that a build needs none.
//
// Errors:  `refusal` says why nothing is known (no libcuda.so.1, no device behind it).
// Threads: independent; loads the driver's library for as long as it asks.
// Source:  CUDA driver API (cuda.h): int results, 0 is success.
#pragma once

#include <string>

namespace blksweep {

struct DriverFacts {
  std::string version;  // of CUDA that it is for: "13.0"
  std::string devices;  // names, with commas
  std::string refusal;
};
DriverFacts ask_driver();

}  // namespace blksweep
