// ComputeTime: how long the emulated accelerator takes for each batch.
//
// Fixed, or lognormal with a given mean and sigma (of the underlying normal), drawn by batch number
// and seed, so that every cell of an experiment sees the same durations.
// Errors:  parse accepts "12ms", "lognormal:12ms", "lognormal:12ms:0.5"; else a usage error.
// Threads: value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

struct ComputeTime {
  Nanos mean{0};
  double sigma = 0;  // 0: fixed

  Nanos of_batch(std::uint32_t batch, std::uint64_t seed) const;
};

Result<ComputeTime> parse_compute_time(std::string_view text);

// Occupies the accelerator until `duration` after `begin_ns` (CLOCK_MONOTONIC): sleeps to the
// deadline, which keeps the CPU free as a real accelerator does.
void emulate_compute(std::int64_t begin_ns, Nanos duration);

}  // namespace blksweep
