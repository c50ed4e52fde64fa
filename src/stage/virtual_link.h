// VirtualLink: when copies over a link of a given bandwidth and latency begin and end.
//
// Bytes of all lanes share the link one transfer after the other. A transfer first pays the
// latency; with more than one lane it does so while the bytes of the lane before are moving.
//
// Units:   times are nanoseconds of any clock that the caller likes; what no clock reaches (1 B/s)
//          ends at the end of time. Threads: value, one owner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/batch_times.h"
#include "base/units.h"
#include "stage/deadline.h"

namespace blksweep {

struct LinkSettings {
  Bytes bandwidth{25'000'000'000};  // per second; more than 0
  Nanos latency{10'000};
  std::uint32_t lanes = 1;
};

class VirtualLink {
 public:
  explicit VirtualLink(const LinkSettings& s) : settings_(s), lane_free_(std::max(1U, s.lanes)) {}

  // A transfer that is asked for at `now_ns`, which never goes back.
  TimeSpan take(std::uint64_t bytes, std::int64_t now_ns) {
    std::int64_t& lane = lane_free_[next_++ % lane_free_.size()];
    const std::int64_t asked = std::max(now_ns, lane);
    const std::int64_t moving = std::max(later(asked, settings_.latency.count()), link_free_);
    lane = link_free_ = later(moving, duration(bytes));
    return {moving - settings_.latency.count(), lane};
  }

  std::int64_t duration(std::uint64_t bytes) const {
    const double ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(settings_.bandwidth.n);
    return ns < 0x1p63 ? std::llround(ns) : std::numeric_limits<std::int64_t>::max();
  }

 private:
  LinkSettings settings_;
  std::vector<std::int64_t> lane_free_;
  std::int64_t link_free_ = 0;
  std::size_t next_ = 0;
};

}  // namespace blksweep
