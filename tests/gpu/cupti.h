// Cupti: records of what the GPU did, by the toolkit's profiling library, for tests only.
//
// The library is looked for when it is asked for: nothing is linked, and no header is needed. Of a
// record three members are read, whose places have not changed since CUDA 8 (cupti_cuda.cpp).
//
// Errors:  Exit::unsupported: there is no libcupti, or one from before CUDA 11.6.
// Threads: one at a time in a process, before or after the GPU was opened.
// Source:  CUPTI API reference, activity API; cupti_activity.h of CUDA 13.0.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/device_span.h"
#include "base/result.h"
#include "base/units.h"
#include "gpu/cupti_check.h"

namespace blksweep {

struct CuptiRecords {
  std::vector<TimeSpan> copies, kernels;  // CLOCK_MONOTONIC, by their beginning
};

class Cupti {
 public:
  static Result<Cupti> start();
  // Ends it. What began before `since` is left out.
  Result<CuptiRecords> stop(std::int64_t since);
  Cupti(Cupti&& other) noexcept;
  Cupti& operator=(Cupti&&) = delete;
  ~Cupti();

 private:
  Cupti() = default;
  bool running_ = false;
};

struct CuptiRun {
  std::uint32_t batches = 100;
  std::uint32_t parts = 256;
  std::uint64_t part_bytes = std::uint64_t{128} << 10;
  Nanos takes = std::chrono::milliseconds(4);  // of the consumer for a batch
};
struct CuptiReport {
  EdgesFound copies, kernels;
  std::int64_t error_ns = 0;                    // that the clock states
  std::int64_t both_ns = 0, cupti_both_ns = 0;  // a copy and a kernel at once: ours, CUPTI's

  double overlap_off() const;  // of CUPTI's; 1: it saw none
};
// Pinned copies beside the consumer that uses memory, batch behind batch, as an epoch does it.
Result<CuptiReport> check_with_cupti(const CuptiRun& run);

}  // namespace blksweep
