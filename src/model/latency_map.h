// LatencyMap: what `blksweep map` measured, read by read; figures, fit and database work from it.
//
// Units:   nanoseconds of CLOCK_MONOTONIC, bytes on the device. No read is averaged; left out are
//          only those that bring the head or the drive's cache into place, and those that failed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace blksweep {

enum class MapPart : std::uint8_t {
  distance,  // depth 1; each read is `distance` from the end of the one before (signed)
  size,      // depth 1, uniform places, one size after another
  depth,     // uniform places, one depth after another
  zone,      // sequential, a stretch at each of several places
  revisit,   // depth 1; few places visited in turns: the phase of a rotation, if there is one
  cached     // depth 1; the same place again at once: what the path costs without the medium
};
inline constexpr std::array kMapParts{MapPart::distance, MapPart::size,    MapPart::depth,
                                      MapPart::zone,     MapPart::revisit, MapPart::cached};
std::string_view to_string(MapPart part);
std::optional<MapPart> map_part(std::string_view name);

struct MapRead {
  std::int64_t begin_ns = 0;
  std::int64_t latency_ns = 0;
  std::uint64_t offset = 0;
  std::int64_t distance = 0;  // MapPart::distance: nominal; else 0
  std::uint32_t bytes = 0;
  std::uint32_t depth = 1;
  MapPart part = MapPart::distance;
};

struct LatencyMap {
  std::string device;  // as given: /dev/loop0, a file
  std::string device_model, kernel;
  std::uint64_t size = 0;
  bool rotational = false;
  std::int64_t started_unix_ns = 0;
  std::uint64_t seed = 1;
  bool interrupted = false;  // parts are missing
  // Unwritten, so that no read went there, and what tells that; unknown: nothing does, or all was
  // asked for.
  std::optional<std::uint64_t> left_out;
  std::string left_out_by;
  std::vector<MapRead> reads;
};

}  // namespace blksweep
