// ClockAlignment: what is known of an accelerator's clock beside CLOCK_MONOTONIC after a run.
//
// Every time that a stage returns is on CLOCK_MONOTONIC already; this says how far it may be off.
#pragma once

#include <cstdint>
#include <optional>

namespace blksweep {

struct ClockAlignment {
  std::int64_t offset_ns = 0;  // CLOCK_MONOTONIC at the first anchor
  // (host - accelerator) / host between first and last anchor, and what it may be off by; nullopt:
  // no two anchors.
  std::optional<double> drift, drift_error;
  std::int64_t error_ns = 0;    // greatest uncertainty of any time that was returned
  std::int64_t clamped_ns = 0;  // farthest that a time lay outside of what the host saw itself
  std::uint32_t anchors = 0;    // moments at which both clocks were read
  std::int64_t cost_ns = 0;     // time of our threads that this took
};

}  // namespace blksweep
