// Zones: the one function that a rotating disk follows from. R(p) is the number of revolutions that
// sustained sequential transfer takes from byte 0 to byte p.
//
// R is linear in each zone (head and track switches are inside the sustained rate) and the angle of
// a byte is the fractional part of its R, so sequential transfer never waits for the platter.
// Units:   revolutions as doubles: below 1e7 of them the error is below 0.01 ns of rotation.
// Threads: pure; read only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace blksweep {

class Zones {
 public:
  // Zones of equal size over `span` bytes. REQUIRES: at least one rate, all > 0.
  Zones(const std::vector<double>& rates, double rotation_ns, std::uint64_t span);
  double revolutions(std::uint64_t byte) const;
  // The inverse.
  double byte_at(double revolutions) const;

 private:
  struct Zone {
    double begin_byte, begin_rev, bytes_per_rev;
  };
  std::vector<Zone> zones_;
};

// What a rotating model lays its zones and its stroke over: the device, or the real disk's size.
std::uint64_t span_of(const RotatingSpec& spec, Bytes size);

}  // namespace blksweep
