// For tests of the CUDA stages: why there is no GPU to run them on.
#pragma once

#include <string>

#include "stage/cuda/cuda_stage.h"

namespace blksweep {

// Empty: there is one.
inline std::string no_gpu() {
  return cuda_built_with().empty() ? "built without CUDA" : cuda_facts().refusal;
}

#define SKIP_WITHOUT_GPU()                                          \
  if (const std::string why = ::blksweep::no_gpu(); !why.empty()) { \
    GTEST_SKIP() << "no GPU: " << why;                              \
  }

}  // namespace blksweep
