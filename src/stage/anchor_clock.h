// AnchorClock: an accelerator's clock brought to CLOCK_MONOTONIC.
//
// An anchor is a moment of the accelerator's clock that the host bracketed between two readings of
// its own. A time is counted from the anchor that is the most certain now: half of its bracket plus
// what the two clocks may have drifted apart since. So no fit is needed after the run, and every
// time is final when it is returned.
//
// Units:   nanoseconds; the accelerator's from any origin. Threads: one owner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "stage/clock_alignment.h"

namespace blksweep {

// Crystals are specified within 50 parts per million of each other.
inline constexpr double kMostDrift = 50e-6;
// What cudaEventElapsedTime() is documented to resolve.
inline constexpr std::int64_t kEventResolutionNs = 500;

struct ClockReading {
  std::int64_t device_ns = 0;
  std::int64_t before_ns = 0, after_ns = 0;  // CLOCK_MONOTONIC around it

  std::int64_t middle() const { return before_ns + (after_ns - before_ns) / 2; }
  std::int64_t half() const { return (after_ns - before_ns + 1) / 2; }
};

class AnchorClock {
 public:
  void offer(const ClockReading& r) {
    ++seen_.anchors;
    if (!best_) {
      first_ = r;
      seen_.offset_ns = r.middle();
    }
    const std::int64_t host = r.middle() - first_.middle();
    if (host > 0) {
      seen_.drift =
          static_cast<double>(host - (r.device_ns - first_.device_ns)) / static_cast<double>(host);
    }
    if (!best_ || r.half() <= uncertainty(r.device_ns)) {
      best_ = r;
    }
  }

  // REQUIRES: an anchor was offered.
  std::int64_t to_host(std::int64_t device_ns) {
    seen_.error_ns = std::max(seen_.error_ns, uncertainty(device_ns) + kEventResolutionNs);
    return best_->middle() + (device_ns - best_->device_ns);
  }

  // The same for a moment that the host knows to lie within [least, most].
  std::int64_t to_host_within(std::int64_t device_ns, std::int64_t least, std::int64_t most) {
    const std::int64_t at = to_host(device_ns);
    const std::int64_t inside = std::clamp(at, least, std::max(least, most));
    seen_.clamped_ns = std::max(seen_.clamped_ns, std::abs(at - inside));
    return inside;
  }

  const ClockAlignment& alignment() const { return seen_; }

 private:
  std::int64_t uncertainty(std::int64_t device_ns) const {
    const auto age = static_cast<double>(std::abs(device_ns - best_->device_ns));
    return best_->half() + static_cast<std::int64_t>(std::ceil(age * kMostDrift));
  }

  ClockReading first_;
  std::optional<ClockReading> best_;
  ClockAlignment seen_;
};

}  // namespace blksweep
