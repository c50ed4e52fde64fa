// The kernels of src/stage/cuda/kernels.cu as the stand-in runs them, and the driver's error texts.
#pragma once

#include <cuda.h>

#include <utility>

#include "standin/gpu.h"

namespace standin {

struct Shape {
  unsigned gx, gy, gz, tx, ty, tz;
};

struct HostKernel {
  const char* name;
  // REQUIRES: the mutex is held. A shape or memory that is wrong is a failure when it runs.
  Operation (*make)(Gpu& gpu, const Shape& shape, void** parameters);
};
// nullptr: there is none of that name.
const HostKernel* find_kernel(const char* name);

// Name and words; nullptr: unknown.
std::pair<const char*, const char*> error_words(CUresult err);

}  // namespace standin
