#include "model/zones.h"

#include <algorithm>

namespace blksweep {

Zones::Zones(const std::vector<double>& rates, double rotation_ns, std::uint64_t span) {
  const double bytes = static_cast<double>(span) / static_cast<double>(rates.size());
  double begin_rev = 0;
  for (const double rate : rates) {
    const double per_rev = rate * rotation_ns / 1e9;
    zones_.push_back({bytes * static_cast<double>(zones_.size()), begin_rev, per_rev});
    begin_rev += bytes / per_rev;
  }
}

double Zones::revolutions(std::uint64_t byte) const {
  const auto at = static_cast<double>(byte);
  const auto next = std::ranges::upper_bound(zones_, at, {}, &Zone::begin_byte);
  const Zone& zone = *(next - 1);
  return zone.begin_rev + (at - zone.begin_byte) / zone.bytes_per_rev;
}

double Zones::byte_at(double revolutions) const {
  const auto next = std::ranges::upper_bound(zones_, revolutions, {}, &Zone::begin_rev);
  const Zone& zone = next == zones_.begin() ? zones_.front() : *(next - 1);
  return zone.begin_byte + (revolutions - zone.begin_rev) * zone.bytes_per_rev;
}

std::uint64_t span_of(const RotatingSpec& spec, Bytes size) {
  return std::max({spec.stroke.n, size.n, std::uint64_t{1}});
}

}  // namespace blksweep
