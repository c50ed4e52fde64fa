// ComputeTime: how long the accelerator takes for each batch.
//
// Fixed; or lognormal with a given mean and sigma (of the underlying normal), drawn by batch number
// and seed, so that every cell of an experiment sees the same durations; or a table of batch size
// (samples) to time, straight lines between its points and level beyond them. Before any of them
// the first batch of a run may have a time of its own, as a loop has that compiles or warms up.
//
// Errors:  parse accepts "12ms", "lognormal:12ms", "lognormal:12ms:0.5", "64:8ms/256:20ms" and
//          "table:PATH" (a file with "64 8ms" a line, # begins a comment), each also behind
//          "first:500ms/"; else a usage error.
// Threads: value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

struct ComputePoint {
  std::uint32_t samples = 0;
  Nanos time{0};
};

struct ComputeTime {
  Nanos mean{0};                         // of a table: the longest
  double sigma = 0;                      // 0: not drawn
  std::vector<ComputePoint> table = {};  // ascending in samples; empty: no table
  std::optional<Nanos> first = {};       // of the first batch, if it differs

  Nanos of_batch(std::uint32_t batch, std::uint32_t samples, std::uint64_t seed) const;
};

Result<ComputeTime> parse_compute_time(std::string_view text);
// Text that parses to the same value.
std::string to_string(const ComputeTime& time);

}  // namespace blksweep
