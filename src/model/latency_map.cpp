#include "model/latency_map.h"

#include <array>
#include <cstddef>

namespace blksweep {

std::string_view to_string(MapPart part) {
  constexpr std::array<std::string_view, 6> kNames{"distance", "size",    "depth",
                                                   "zone",     "revisit", "cached"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace blksweep
