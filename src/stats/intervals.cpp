#include "stats/intervals.h"

#include <algorithm>

namespace blksweep {

TimeSpan intersect(const TimeSpan& a, const TimeSpan& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

IntervalSet::IntervalSet(std::vector<TimeSpan> spans) {
  std::erase_if(spans, [](const TimeSpan& s) { return s.length() == 0; });
  std::ranges::sort(spans, {}, &TimeSpan::begin);
  for (const TimeSpan& s : spans) {
    if (!spans_.empty() && s.begin <= spans_.back().end) {
      spans_.back().end = std::max(spans_.back().end, s.end);
    } else {
      spans_.push_back(s);
    }
  }
}

std::int64_t IntervalSet::measure() const {
  std::int64_t sum = 0;
  for (const TimeSpan& s : spans_) {
    sum += s.length();
  }
  return sum;
}

std::int64_t IntervalSet::measure_in(const TimeSpan& window) const {
  std::int64_t sum = 0;
  auto at = std::ranges::upper_bound(spans_, window.begin, {}, &TimeSpan::end);
  for (; at != spans_.end() && at->begin < window.end; ++at) {
    sum += intersect(*at, window).length();
  }
  return sum;
}

bool IntervalSet::contains(std::int64_t t) const {
  const auto at = std::ranges::upper_bound(spans_, t, {}, &TimeSpan::end);
  return at != spans_.end() && at->begin <= t;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  std::vector<TimeSpan> all = a.spans_;
  all.insert(all.end(), b.spans_.begin(), b.spans_.end());
  return IntervalSet(std::move(all));
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto x = a.spans_.begin();
  auto y = b.spans_.begin();
  while (x != a.spans_.end() && y != b.spans_.end()) {
    if (const TimeSpan both = intersect(*x, *y); both.length() > 0) {
      out.spans_.push_back(both);
    }
    x->end < y->end ? static_cast<void>(++x) : static_cast<void>(++y);
  }
  return out;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto cut = b.spans_.begin();
  for (TimeSpan left : a.spans_) {
    while (cut != b.spans_.end() && cut->end <= left.begin) {
      ++cut;
    }
    for (auto c = cut; c != b.spans_.end() && c->begin < left.end; ++c) {
      if (c->begin > left.begin) {
        out.spans_.push_back({left.begin, c->begin});
      }
      left.begin = std::max(left.begin, c->end);
    }
    if (left.length() > 0) {
      out.spans_.push_back(left);
    }
  }
  return out;
}

}  // namespace blksweep
