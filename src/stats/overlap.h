// Overlap of transfers and kernels, as papers on accelerators state it: on the accelerator's own
// clock, of what its copy engines and its multiprocessors did, beside the account of the pipeline
// (stats/account.h), which counts what a stage costs. Definitions: docs/account.md.
//
// Identity:  transfer = both + exposed; wall = transfer + kernel - both + idle.
// Unknown:   without a copy stage what transfers would say, without a consumer what kernels would.
// Units:     nanoseconds of one clock, bytes. Intervals are cut at the epoch.
// Threads:   pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/device_span.h"

namespace blksweep {

struct OverlapInput {
  TimeSpan epoch;
  std::span<const TransferSlice> transfers{};
  std::span<const KernelSpan> kernels{};
};

struct Overlap {
  std::int64_t wall = 0;
  std::int64_t transfer = 0;  // at least one slice under way
  std::int64_t kernel = 0;    // at least one kernel running
  std::int64_t both = 0;
  std::int64_t exposed = 0;  // transfer without a kernel
  std::int64_t idle = 0;     // neither
  std::uint64_t bytes = 0;
  std::uint64_t hidden_bytes = 0;  // of these, while a kernel ran: a slice moves evenly
  std::int64_t asked = 0;          // what the kernels were to take together
  // Kernels whose data had arrived when the one before ended, how long the accelerator stood still
  // in front of them, and in front of the one that waited longest.
  std::uint64_t fed = 0;
  std::int64_t fed_gap = 0, fed_gap_most = 0;

  // 0..1; unknown where there is nothing to divide by.
  std::optional<double> hidden_share() const;   // both / transfer
  std::optional<double> exposed_share() const;  // exposed / wall
  std::optional<double> utilisation() const;    // kernel / wall
  std::optional<double> bytes_per_s() const;    // bytes / transfer
};

Overlap overlap_of(const OverlapInput& input);

}  // namespace blksweep
