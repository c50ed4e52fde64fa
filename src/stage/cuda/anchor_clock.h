// AnchorClock: an accelerator's clock brought to CLOCK_MONOTONIC.
//
// An anchor is a moment of the accelerator's clock that the host bracketed between two readings of
// its own. A time is counted from that of the last anchors which is the most certain for it: half
// of its bracket, what the two clocks may have drifted apart between them, and what the
// accelerator's own times are off. So no fit is needed after the run, and every time is final when
// it is returned.
//
// Units:   nanoseconds; the accelerator's from any origin. Threads: one owner.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "stage/clock_alignment.h"

namespace blksweep {

// NTP slews CLOCK_MONOTONIC by up to 500 parts per million (adjtimex(2)); crystals are specified
// within 50 of true. Where two anchors show more (chrony may slew harder), that is used.
inline constexpr double kMostDrift = 600e-6;

struct DeviceTime {
  std::int64_t ns = 0;
  std::int64_t error_ns = 0;  // that it may be off by itself
};

struct ClockReading {
  std::int64_t device_ns = 0;
  std::int64_t before_ns = 0, after_ns = 0;  // CLOCK_MONOTONIC around it
  std::int64_t device_error_ns = 0;

  std::int64_t middle() const { return before_ns + (after_ns - before_ns) / 2; }
  std::int64_t half() const { return (after_ns - before_ns + 1) / 2; }
  std::int64_t error() const { return half() + device_error_ns; }
};

class AnchorClock {
 public:
  void offer(const ClockReading& r) {
    if (seen_.anchors > 0) {
      most_drift_ = std::max(most_drift_, least_drift(newest(), r));
    }
    if (seen_.anchors == 0 || (!counted_ && r.error() < first_.error())) {
      first_ = r;  // the host may have been interrupted in the one before
      seen_.offset_ns = r.middle();
    }
    const std::int64_t host = r.middle() - first_.middle();
    if (host > 0) {
      const auto length = static_cast<double>(host);
      seen_.drift = static_cast<double>(host - (r.device_ns - first_.device_ns)) / length;
      seen_.drift_error = static_cast<double>(r.error() + first_.error()) / length;
    }
    last_[seen_.anchors++ % last_.size()] = r;
  }

  // Forgets what was, its statistics too: a new epoch, whose first anchor comes next. What two
  // anchors have proved of the drift stays.
  void restart() {
    seen_ = {};
    last_ = {};
    counted_ = false;
  }

  // The accelerator's own clock, set to CLOCK_MONOTONIC at the most certain anchor before the first
  // of these and never again: two of them are as far apart as it says itself. What the anchor is
  // off by, all of them are, and is stated. REQUIRES: an anchor was offered.
  std::int64_t on_device(DeviceTime at) {
    counted_ = true;
    seen_.error_ns = std::max(seen_.error_ns, first_.error());
    return first_.middle() + (at.ns - first_.device_ns);
  }

  // REQUIRES: an anchor was offered.
  std::int64_t to_host(DeviceTime at) {
    const ClockReading& from = most_certain(at.ns);
    seen_.error_ns = std::max(seen_.error_ns, uncertainty(from, at.ns) + at.error_ns);
    return from.middle() + (at.ns - from.device_ns);
  }

  // The same for a moment that the host knows to lie within [least, most].
  std::int64_t to_host_within(DeviceTime at, std::int64_t least, std::int64_t most) {
    return within(to_host(at), least, most);
  }
  std::int64_t within(std::int64_t there, std::int64_t least, std::int64_t most) {
    const std::int64_t inside = std::clamp(there, least, std::max(least, most));
    seen_.clamped_ns = std::max(seen_.clamped_ns, std::abs(there - inside));
    return inside;
  }

  const ClockAlignment& alignment() const { return seen_; }

 private:
  static constexpr std::size_t kKept = 16;

  const ClockReading& newest() const { return last_[(seen_.anchors - 1) % last_.size()]; }

  std::int64_t uncertainty(const ClockReading& from, std::int64_t device_ns) const {
    const auto age = static_cast<double>(std::abs(device_ns - from.device_ns));
    return from.error() + static_cast<std::int64_t>(std::ceil(age * most_drift_));
  }

  const ClockReading& most_certain(std::int64_t device_ns) const {
    const std::size_t known = std::min<std::size_t>(seen_.anchors, last_.size());
    return *std::min_element(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(known),
                             [&](const ClockReading& a, const ClockReading& b) {
                               return uncertainty(a, device_ns) < uncertainty(b, device_ns);
                             });
  }

  // What two anchors prove, whatever their errors hide.
  static double least_drift(const ClockReading& a, const ClockReading& b) {
    const std::int64_t host = b.middle() - a.middle();
    const std::int64_t apart = std::abs(host - (b.device_ns - a.device_ns)) - a.error() - b.error();
    return host > 0 && apart > 0 ? static_cast<double>(apart) / static_cast<double>(host) : 0;
  }

  ClockReading first_;    // what the accelerator's own clock is counted from
  bool counted_ = false;  // it was
  std::array<ClockReading, kKept> last_;
  double most_drift_ = kMostDrift;
  ClockAlignment seen_;
};

}  // namespace blksweep
