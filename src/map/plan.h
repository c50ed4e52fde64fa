// MapPlan: which reads a latency map makes. Pure: the same settings give the same reads.
//
// Each part is an endless row of rounds; a round visits every point of the part once (every
// distance in both directions (short ones twice), every size, every depth ...) in an order of its
// own. So whenever
// time runs out, all points of a part have nearly the same number of reads, and a drift of the host
// does not fall on one of them.
//
// Units:   bytes on the device; all offsets and lengths are multiples of settings.block.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/byte_range.h"
#include "base/result.h"
#include "base/rng.h"
#include "map/places.h"
#include "model/latency_map.h"

namespace blksweep {

struct MapStep {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::int64_t distance = 0;  // nominal, MapPart::distance only
  // Waits before the read for this share of a usual latency: short distances would otherwise always
  // meet the disk at the same angle.
  double pause = 0;
  bool recorded = true;  // false: only brings the head or the drive's cache into place
};

// Reads that are made in this order with `depth` in flight.
struct MapBatch {
  MapPart part = MapPart::distance;
  std::uint32_t depth = 1;
  std::vector<MapStep> steps;
};

struct MapPlanSettings {
  std::uint64_t size = 0;  // of the device or file
  std::uint32_t block = 4096;
  std::uint64_t seed = 1;
  std::vector<ByteRange> written = {};  // ascending, apart: reads lie in them; none: everywhere
};

inline constexpr std::uint64_t kSmallestMap = std::uint64_t{16} << 20;
inline constexpr std::size_t kMapDistances = 16;  // per direction
inline constexpr std::size_t kMapZones = 16;
inline constexpr std::size_t kMapRevisits = 48;  // places

class MapPlan {
 public:
  // Errors: usage, when the device, or what of it is written, is smaller than kSmallestMap, or the
  // block above 64 KiB.
  static Result<MapPlan> make(const MapPlanSettings& settings);

  // The next round of a part, or the next piece of one (one depth, one stretch). Empty: nothing of
  // it is written.
  MapBatch next(MapPart part);

  // The nominal distances, ascending; forward and backward are the same.
  const std::vector<std::uint64_t>& distances() const { return distances_; }
  std::vector<std::uint32_t> sizes() const;
  static const std::vector<std::uint32_t>& depths();
  // The longest read of any part.
  std::uint32_t largest_read() const;

 private:
  explicit MapPlan(const MapPlanSettings& settings);
  MapBatch distance_round();
  MapBatch size_round();
  MapBatch depth_piece();
  MapBatch zone_stretch();
  MapBatch revisit_round();
  MapBatch cached_round();
  MapStep distance_step(std::int64_t nominal);
  MapStep positioning(std::int64_t nominal);
  std::uint64_t place(std::uint64_t bytes);
  void choose_revisits();
  void keep_to_written(MapStep& step);
  std::uint64_t room(std::uint64_t bytes) const { return settings_.size - bytes; }

  MapPlanSettings settings_;
  Rng rng_;
  MapPlaces places_;
  std::vector<std::uint64_t> distances_;
  std::vector<std::uint64_t> revisit_;  // places
  std::uint64_t head_ = 0;              // end of the latest read of the distance part
  std::uint64_t depth_at_ = 0, zone_at_ = 0;
};

}  // namespace blksweep
