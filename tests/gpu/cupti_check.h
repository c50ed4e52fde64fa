// What a run says of its copies and kernels, held to what CUPTI says of them.
//
// CUPTI (the profiling library that comes with the toolkit) reads the GPU's own time stamps, which
// no event of ours has a part in, and brings them to the clock that it is given: CLOCK_MONOTONIC.
//
// Units:   nanoseconds of CLOCK_MONOTONIC. Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/device_span.h"

namespace blksweep {

// From an event to the work behind it, and from the work to the event behind it: what lies between
// two events is measured, and a launch or two is part of it.
inline constexpr std::int64_t kWayToWork = 10'000;

struct EdgesFound {
  std::int64_t outside = 0;   // farthest that work reached out of the span that holds it
  std::int64_t inside = 0;    // farthest that its first or last work lay within the span
  std::uint32_t missing = 0;  // spans without work
  std::uint32_t lost = 0;     // work that is in no span

  // `error`: that the clock states.
  bool within(std::int64_t error) const {
    return missing == 0 && lost == 0 && outside <= error && inside <= error + kWayToWork;
  }
  std::int64_t farthest() const { return std::max(outside, inside); }
};

// `spans`: one a batch, in order, not overlapping. Work belongs to the span that its middle is in,
// or is nearest to when none is nearer than `reach`.
inline EdgesFound compare_edges(std::span<const TimeSpan> spans, std::span<const TimeSpan> work,
                                std::int64_t reach) {
  EdgesFound found;
  std::vector<TimeSpan> held(spans.size());  // first begin, last end; of nothing: empty
  for (const TimeSpan& w : work) {
    const std::int64_t middle = w.begin + w.length() / 2;
    const auto distance = [middle](const TimeSpan& s) {
      return std::max<std::int64_t>({0, s.begin - middle, middle - s.end});
    };
    const auto nearest = std::ranges::min_element(spans, {}, distance);
    if (nearest == spans.end() || distance(*nearest) > reach) {
      ++found.lost;
      continue;
    }
    TimeSpan& h = held[static_cast<std::size_t>(nearest - spans.begin())];
    h = h.length() == 0 ? w : TimeSpan{std::min(h.begin, w.begin), std::max(h.end, w.end)};
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (held[i].length() == 0) {
      ++found.missing;
      continue;
    }
    const std::int64_t front = held[i].begin - spans[i].begin;
    const std::int64_t back = spans[i].end - held[i].end;
    found.outside = std::max({found.outside, -front, -back});
    found.inside = std::max({found.inside, front, back});
  }
  return found;
}

}  // namespace blksweep
