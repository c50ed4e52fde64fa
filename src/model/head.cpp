#include "model/head.h"

#include <algorithm>
#include <cmath>

namespace blksweep {
Head::Head(const RotatingSpec& spec, Bytes size)
    : rotation_ns_(spec.rotation_ns),
      span_(static_cast<double>(span_of(spec, size))),
      forward_(spec.seek_forward),
      backward_(spec.seek_backward),
      zones_(spec.zone_rates, spec.rotation_ns, span_of(spec, size)) {}

double Head::place(double at) const {
  if (stopped(at)) {
    return limit_;
  }
  const double streamed = std::max(0.0, at - begin_ns_) / rotation_ns_;
  return std::min(begin_rev_ + streamed, limit_);
}

Head::Place Head::where(double at) const {
  const double rev = place(at);
  return {at, rev, zones_.byte_at(rev)};
}

double Head::seek(const Place& from, double byte, double rev) const {
  if (std::floor(rev) == std::floor(from.rev)) {
    return 0;  // the same track
  }
  const double distance = (byte - from.byte) / span_;
  return seek_ns(distance > 0 ? forward_ : backward_, std::abs(distance));
}

double Head::meets(const Place& from, double byte, double rev) const {
  const double arrived = from.at + seek(from, byte, rev);
  const double ahead = rev - arrived / rotation_ns_;
  const double turn = ahead - std::floor(ahead);
  return arrived + (turn > 1 - kSamePlace ? turn - 1 : turn) * rotation_ns_;
}

void Head::begin(double at, double rev, double limit) {
  begin_ns_ = at;
  begin_rev_ = rev;
  limit_ = limit;
}

}  // namespace blksweep
