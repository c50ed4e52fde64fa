// What CUDA's error numbers and a node's versions mean, in words.
//
// Pure, and without the toolkit's headers: builds with and without CUDA have the same words and
// test them where there is no GPU.
//
// Source: CUresult (cuda.h of CUDA 13.0).
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace blksweep {

// The calls that this program makes have their form since then; its kernels' PTX is older still.
inline constexpr int kLeastDriver = 11000;
// Volta: what the kernels' PTX is for, and every later GPU.
inline constexpr int kLeastCapability = 70;

struct GpuNode {
  int driver = 0;           // cuDriverGetVersion(): 13000; 0: no driver
  int devices = 0;          // cuDeviceGetCount()
  int error = 0;            // what cuInit() or that said
  std::string error_words;  // why nothing can be asked: in CUDA's words, or what the library lacks
};

// "13.0" of 13000; "" of 0.
std::string cuda_version_words(int version);
// Why this node's GPUs cannot be used; empty: they can.
std::string gpu_refusal(const GpuNode& node);
// Why this one cannot; names --device-index. REQUIRES: gpu_refusal() is empty.
std::string gpu_index_refusal(const GpuNode& node, std::uint32_t index);

// Why one of this compute capability (75: 7.5) cannot; empty: it can.
std::string gpu_capability_refusal(std::uint32_t index, const std::string& name, int capability);

// What CUDA calls a GPU by, for those that know it by other names.
struct GpuAddress {
  std::string pci;   // "0000:65:00.0"
  std::string uuid;  // "8f4c...-...": of the MIG instance where it is one; either empty: unknown
};
// With the prefix that NVML has for it: "MIG-" where CUDA's is not that of the GPU at this address.
// `of_gpu`: NVML's, "GPU-8f4c..."; empty: unknown, and then there is no prefix.
std::string gpu_uuid(const std::string& of_cuda, const std::string& of_gpu);

enum class GpuError {
  passing,  // this call was refused, the next one may work
  sticky,   // every call of the process fails until it is started again
  unknown,  // ask the GPU
};
GpuError gpu_error(int error);

struct GpuMemoryRequest {
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0, all_bytes = 0;  // of the GPU; all 0: not known
  std::string purpose;                          // "2 slots of 32 MiB"
  std::string way_out;                          // "use a smaller --batch"
};
std::string gpu_memory_refusal(const GpuMemoryRequest& request);

}  // namespace blksweep
