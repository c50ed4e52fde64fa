// Two modes: places of a device that always answer much faster than its others, as unwritten and
// trimmed addresses do. A mixture over such a device is the figure of neither.
//
// By place, from MapPart::revisit: a host that holds reads up does so at every place, a cache
// answers whoever comes again; only an address is fast at each visit while others never are.
// Unknown: nullopt, with fewer than 12 places of 3 visits, or without two modes.
// Threads: pure.
#pragma once

#include <cstddef>
#include <optional>

#include "model/latency_map.h"

namespace blksweep {

struct TwoModes {
  std::size_t places = 0, fast_places = 0;
  double fast_ns = 0, slow_ns = 0;  // medians over places of their median latency
};
std::optional<TwoModes> two_modes(const LatencyMap& map);

}  // namespace blksweep
