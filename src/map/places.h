// MapPlaces: where a latency map may read: everywhere, or only what was written.
//
// Units:   bytes; everything is a multiple of `block`, and written ranges are rounded inwards.
// Threads: pure; read only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_range.h"
#include "base/rng.h"

namespace blksweep {

class MapPlaces {
 public:
  // `written` ascending and apart; nothing: everywhere. REQUIRES: `size` is a multiple of `block`.
  MapPlaces(std::uint64_t size, std::uint32_t block, const std::vector<ByteRange>& written);

  std::uint64_t bytes() const;
  std::uint64_t longest() const;  // range
  bool holds(std::uint64_t offset, std::uint64_t bytes) const;
  // A uniform place for a read; none: no range is that long.
  std::optional<std::uint64_t> draw(std::uint64_t bytes, Rng& rng) const;
  // The place for it that is nearest to `offset`.
  std::optional<std::uint64_t> nearest(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::uint32_t block_;
  std::vector<ByteRange> ranges_;
};

}  // namespace blksweep
