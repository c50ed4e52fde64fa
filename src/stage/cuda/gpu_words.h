// What CUDA's error numbers and a node's versions mean, in words.
//
// Pure, and without the toolkit's headers: builds with and without CUDA have the same words and
// test them where there is no GPU.
//
// Source: cudaError_t (driver_types.h of CUDA 13.0); CUDA Compatibility: a program runs on every
//         driver of its runtime's major version (minor version compatibility) and of later ones.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace blksweep {

struct GpuNode {
  int driver = 0;           // cudaDriverGetVersion(): 13000; 0: no driver
  int runtime = 0;          // CUDART_VERSION
  int devices = 0;          // cudaGetDeviceCount()
  int error = 0;            // what that said
  std::string error_words;  // the same in CUDA's words
};

// "13.0" of 13000; "" of 0.
std::string cuda_version_words(int version);
// Why this node's GPUs cannot be used; empty: they can.
std::string gpu_refusal(const GpuNode& node);
// Why this one cannot; names --device-index. REQUIRES: gpu_refusal() is empty.
std::string gpu_index_refusal(const GpuNode& node, std::uint32_t index);

// After which every call of the process fails until it is started again.
bool sticky_cuda_error(int error);

struct GpuMemoryRequest {
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0, all_bytes = 0;  // of the GPU; all 0: not known
  std::string purpose;                          // "2 slots of 32 MiB"
  std::string way_out;                          // "use a smaller --batch"
};
std::string gpu_memory_refusal(const GpuMemoryRequest& request);

}  // namespace blksweep
