// Nvml: the driver's management library, opened when it is asked for, so that a build needs none.
//
// Errors:  open() says why there is none (no libnvidia-ml.so.1, no driver behind it). Every
//          function returns 0 for success, as nvml.h has it; one that an old library lacks is
//          nullptr where it is said to be optional.
// Threads: NVML's functions may be called by any.
// Source:  NVML API reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
inline constexpr int kNvmlClockSm = 1;

class Nvml {
 public:
  static Result<Nvml> open();
  Nvml(Nvml&&) noexcept = default;
  Nvml& operator=(Nvml&&) = delete;
  ~Nvml();

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, NvmlDevice*) = nullptr;
  int (*utilisation)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  // Optional.
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;  // a MIG instance's, too
  int (*throttle_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*link_generation)(NvmlDevice, unsigned*) = nullptr;  // as it is; with nothing to do it falls
  int (*link_width)(NvmlDevice, unsigned*) = nullptr;
  int (*link_generation_most)(NvmlDevice, unsigned*) = nullptr;
  int (*link_width_most)(NvmlDevice, unsigned*) = nullptr;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  Nvml() = default;
  template <class F>
  bool find(F& function, const char* symbol);

  std::unique_ptr<void, Close> library_;
  bool ready_ = false;
};

struct GpuIdentity {
  std::string name;
  Bytes memory{0};
};
// What slowed the GPU's clocks, of NVML's bits ("power cap, heat"); "" where nothing did: that it
// is idle or was set so by somebody slows nothing down that was measured.
std::string throttle_words(unsigned long long reasons);

// "2 x NVIDIA H100 80GB HBM3 (79.6 GiB); driver 580.65.06"; "" without a GPU.
std::string gpu_text(const std::vector<GpuIdentity>& gpus, const std::string& driver);
// The same of this node, asked of NVML: no CUDA context is made and the GPU does not notice.
std::string gpu_of_node();

}  // namespace blksweep
