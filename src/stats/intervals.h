// IntervalSet: instants of a clock as sorted half-open intervals [begin, end), exact on integers.
//
// Units:    whatever the caller counts in; the pipeline's are nanoseconds of CLOCK_MONOTONIC.
// Property: spans() are sorted, not empty, and neither overlap nor touch, so that equal sets have
//           equal spans. measure(a) + measure(b) = measure(a or b) + measure(a and b).
// Cost:     building sorts; union, intersection and difference are linear in both operands.
// Threads:  values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/batch_times.h"

namespace blksweep {

TimeSpan intersect(const TimeSpan& a, const TimeSpan& b);

class IntervalSet {
 public:
  IntervalSet() = default;
  // Of spans in any order, overlapping or without length.
  explicit IntervalSet(std::vector<TimeSpan> spans);

  std::int64_t measure() const;
  // Of the part of this set within `window`.
  std::int64_t measure_in(const TimeSpan& window) const;
  bool contains(std::int64_t t) const;
  std::span<const TimeSpan> spans() const { return spans_; }
  bool operator==(const IntervalSet&) const = default;

  friend IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);

 private:
  std::vector<TimeSpan> spans_;
};

}  // namespace blksweep
