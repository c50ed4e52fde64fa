// GpuSampler: what NVML says of a GPU while an epoch runs, as monitors of training jobs see it.
//
// NVML's own utilisation is averaged over its sampling period (1/6 s to 1 s, by product): it says
// whether a kernel ran at all, and is coarser than the account of the run.
//
// Errors:  optional: start() says why there is none (no libnvidia-ml.so.1, no such GPU). What one
//          GPU cannot tell stays unknown.
// Threads: one owner; samples on a thread of its own from start() to stop().
// Source:  NVML API reference (stage/cuda/nvml.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "stage/cuda/gpu_words.h"

namespace blksweep {

struct GpuSample {
  std::int64_t at_ns = 0;                           // CLOCK_MONOTONIC, before the library was asked
  std::optional<std::uint32_t> utilisation;         // percent of time with a kernel
  std::optional<std::uint32_t> memory_utilisation;  // percent of time with memory traffic
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<std::uint32_t> clock_mhz;         // of the multiprocessors
  std::optional<std::uint64_t> throttle_reasons;  // NVML's bits
};

// Which GPU it is, and how it is connected: of its link the most that was seen while it was
// sampled, because the link of an idle GPU slows down.
struct GpuPlace {
  std::string name, uuid, pci;  // empty: unknown
  std::optional<std::uint32_t> link_generation, link_generation_most;
  std::optional<std::uint32_t> link_width, link_width_most;
};

class GpuSampler {
 public:
  // By PCI address, because CUDA's order of GPUs is not NVML's. Memory and utilisation are those of
  // the MIG instance where it is one (NVML tells no utilisation of these), clocks and link the
  // GPU's.
  static Result<std::unique_ptr<GpuSampler>> start(const GpuAddress& address,
                                                   std::chrono::milliseconds period);
  ~GpuSampler();
  // Ends the thread; what it saw, ascending in time.
  std::vector<GpuSample> stop();
  // REQUIRES: it was stopped.
  GpuPlace place() const;

 private:
  struct Impl;
  explicit GpuSampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace blksweep
