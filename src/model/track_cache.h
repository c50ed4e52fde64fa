// TrackCache: the segments of a drive's buffer: what was read and read ahead, as stretches of the
// medium.
//
// A segment reaches from a byte to a number of revolutions (zones.h), because its end is where a
// streaming head is. At most one segment grows: the active one, which the head is filling.
// Threads: one owner. Cost: O(segments).
#pragma once

#include <cstdint>
#include <vector>

namespace blksweep {

class TrackCache {
 public:
  explicit TrackCache(std::uint32_t segments) : segments_(segments) {}

  // A place on the medium; `begin`, `end` in bytes, `end_rev` = R(end).
  struct Stretch {
    std::uint64_t begin, end;
    double begin_rev, end_rev;
  };

  bool active() const { return active_ != nullptr; }
  // REQUIRES: active().
  std::uint64_t active_begin() const { return active_->begin; }
  void forget_before(std::uint64_t byte) {
    active_->begin = byte > active_->begin ? byte : active_->begin;
  }

  // The least recently used segment is given up for one that begins here and is filled from now on.
  void begin(std::uint64_t byte) {
    active_ = &segments_.front();
    for (Segment& s : segments_) {
      active_ = s.used < active_->used ? &s : active_;
    }
    *active_ = {byte, 0, ++clock_};
  }
  // The head leaves: what it has read by now stays.
  void freeze(double head_rev) {
    if (active_ != nullptr) {
      active_->end_rev = head_rev;
      active_ = nullptr;
    }
  }

  enum class Where { nowhere, kept, active };
  // Wholly in a segment, if the head has read up to `head_rev`; `slack` is what rounding may take.
  Where find(const Stretch& s, double head_rev, double slack) {
    for (Segment& segment : segments_) {
      const double end = &segment == active_ ? head_rev : segment.end_rev;
      if (segment.used > 0 && s.begin >= segment.begin && s.end_rev <= end + slack) {
        segment.used = ++clock_;
        return &segment == active_ ? Where::active : Where::kept;
      }
    }
    return Where::nowhere;
  }

  // REQUIRES: nothing active. Segments with a byte of the stretch are empty from now on.
  void drop(const Stretch& s) {
    for (Segment& segment : segments_) {
      if (s.begin_rev < segment.end_rev && s.end > segment.begin) {
        segment = {};
      }
    }
  }

 private:
  struct Segment {
    std::uint64_t begin = 0;
    double end_rev = 0;
    std::uint64_t used = 0;  // 0: empty
  };
  std::vector<Segment> segments_;
  Segment* active_ = nullptr;
  std::uint64_t clock_ = 0;
};

}  // namespace blksweep
