// Head: where the head of a rotating disk is at a time, and how long it takes to get elsewhere.
//
// A pass begins when the head meets a byte and goes on, as fast as the platter turns, to the end of
// what is asked and then of the read-ahead. Everything is computed from the pass's beginning and
// from absolute time, so no error adds up however long a sequential pass goes on.
// Units:   times in ns since 0 as doubles (0.002 ns fine at 1e13 ns), places in revolutions.
// Threads: one owner.
#pragma once

#include <cstdint>

#include "model/zones.h"

namespace blksweep {

// Places this near (a part of a revolution; 8 ns at 7200 rpm) are one: rounding must never cost
// exactly sequential requests a whole revolution.
inline constexpr double kSamePlace = 1e-6;

class Head {
 public:
  Head(const RotatingSpec& spec, Bytes size);

  double revolutions(std::uint64_t byte) const { return zones_.revolutions(byte); }
  // How far the head has come by `at`: never beyond the pass's limit.
  double place(double at) const;
  // Has it come to the limit by then? The platter goes on turning; the head stays on its track.
  bool stopped(double at) const { return passes(limit_) <= at; }
  double limit() const { return limit_; }
  // When the pass meets this place. Before the pass's beginning or its limit's end: extrapolated.
  double passes(double rev) const { return begin_ns_ + (rev - begin_rev_) * rotation_ns_; }
  void extend(double limit) { limit_ = limit > limit_ ? limit : limit_; }

  // Where the head is and what byte is under it: the same for all candidates of a choice.
  struct Place {
    double at, rev, byte;
  };
  Place where(double at) const;
  // When a head that leaves `from` meets `byte`: seek, then rotation.
  double meets(const Place& from, double byte, double rev) const;
  // A new pass meets `rev` at `at` and goes on to `limit`.
  void begin(double at, double rev, double limit);

 private:
  double seek(const Place& from, double byte, double rev) const;

  double rotation_ns_, span_;
  SeekCurve forward_, backward_;
  Zones zones_;
  double begin_ns_ = 0, begin_rev_ = 0, limit_ = 0;
};

}  // namespace blksweep
