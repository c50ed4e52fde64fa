// What an accelerator did, piece by piece: slices of transfers, and the kernel of each batch.
//
// Clock:   the accelerator's own, set to CLOCK_MONOTONIC once, when an epoch begins, so that all
//          differences are its own; an emulated one has CLOCK_MONOTONIC, and so has what is
//          compared with it. Nanoseconds.
// Threads: values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/batch_times.h"

namespace blksweep {

// Bytes that were on their way without a pause: what a copy leaves between two of its slices is
// nobody's transfer.
struct TransferSlice : TimeSpan {
  std::uint32_t batch = 0, lane = 0;
  std::uint64_t bytes = 0;
  bool operator==(const TransferSlice&) const = default;
};

struct KernelSpan : TimeSpan {
  std::uint32_t batch = 0;
  std::int64_t asked_ns = 0;  // that it was to take
  bool operator==(const KernelSpan&) const = default;
};

struct DeviceWork {
  std::vector<TransferSlice> transfers;
  std::vector<KernelSpan> kernels;  // both by batch
};

}  // namespace blksweep
