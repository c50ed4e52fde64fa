#include "map/places.h"

#include <algorithm>

#include "base/units.h"

namespace blksweep {
namespace {

std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

MapPlaces::MapPlaces(std::uint64_t size, std::uint32_t block, const std::vector<ByteRange>& written)
    : block_(block) {
  if (written.empty()) {
    ranges_.push_back({0, size});
  }
  for (const ByteRange& r : written) {
    const ByteRange whole{align_up(r.begin, block), align_down(std::min(r.end, size), block)};
    if (whole.begin < whole.end) {
      ranges_.push_back(whole);
    }
  }
}

std::uint64_t MapPlaces::bytes() const {
  std::uint64_t sum = 0;
  for (const ByteRange& r : ranges_) {
    sum += r.bytes();
  }
  return sum;
}

std::uint64_t MapPlaces::longest() const {
  std::uint64_t most = 0;
  for (const ByteRange& r : ranges_) {
    most = std::max(most, r.bytes());
  }
  return most;
}

bool MapPlaces::holds(std::uint64_t offset, std::uint64_t bytes) const {
  const auto behind = std::ranges::upper_bound(ranges_, offset, {}, &ByteRange::begin);
  return behind != ranges_.begin() && offset + bytes <= std::prev(behind)->end;
}

std::optional<std::uint64_t> MapPlaces::draw(std::uint64_t bytes, Rng& rng) const {
  const auto places = [&](const ByteRange& r) {
    return r.bytes() < bytes ? 0 : (r.bytes() - bytes) / block_ + 1;
  };
  std::uint64_t all = 0;
  for (const ByteRange& r : ranges_) {
    all += places(r);
  }
  if (all == 0) {
    return std::nullopt;
  }
  std::uint64_t n = rng.below(all);
  auto range = ranges_.begin();
  for (; n >= places(*range); ++range) {
    n -= places(*range);
  }
  return range->begin + n * block_;
}

std::optional<std::uint64_t> MapPlaces::nearest(std::uint64_t offset, std::uint64_t bytes) const {
  std::optional<std::uint64_t> best;
  const auto look = [&](const ByteRange& r) {
    if (r.bytes() >= bytes) {
      const std::uint64_t at = std::clamp(align_down(offset, block_), r.begin, r.end - bytes);
      best = !best || apart(at, offset) < apart(*best, offset) ? at : *best;
    }
    return best.has_value();
  };
  const auto behind = std::ranges::upper_bound(ranges_, offset, {}, &ByteRange::begin);
  for (auto r = behind; r != ranges_.end() && !look(*r); ++r) {
  }
  // Downwards from where it would lie; the first that fits is the nearest below.
  for (auto r = behind; r != ranges_.begin();) {
    const ByteRange& below = *--r;
    if (below.bytes() >= bytes) {
      look(below);
      break;
    }
  }
  return best;
}

}  // namespace blksweep
