// What became of an intended order of reads by the time that a layer below saw their requests.
//
// Seen:       a read is seen at the first request that overlaps it, whatever is asked later. Reads
//             that one request covers (merged ones) are seen at once, which keeps their order.
//             Reads that are never seen, and requests of nobody, have no part in the figures.
// Kept:       of each two neighbours of the plan that were seen, the share seen in its order.
// Tau:        Kendall's tau (1: as planned, 0: no order, -1: reversed) of pairs within successive
//             windows of the plan, all windows together.
// Reversed:   the share of reads in chains of at least kLeastChain successive requests, each of
//             the reads just before those of the request before it. So reversed batches are found
//             without knowing where batches began; batches below kLeastChain are not.
// Displaced:  places between plan and sight, of each read.
// Errors:     none; nothing is known of fewer than two reads.
// Threads:    pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace blksweep {

// Bytes of the whole disk that a read of the plan covers; a read may have several places.
struct PlannedPlace {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t read = 0;  // its place in the intended order
};

struct SeenRequest {
  std::uint64_t begin = 0, end = 0;
};

inline constexpr std::size_t kLeastChain = 3;

struct OrderSurvival {
  std::uint64_t reads = 0;
  double kept = 0, tau = 0, reversed = 0;
  std::optional<std::uint64_t> reversed_run;  // requests in a chain, median; none without any
  std::uint64_t displaced_p50 = 0, displaced_p99 = 0, displaced_max = 0;
};

// `places`: by address, disjoint. `seen`: in the order that they were seen in. `window`: in reads.
// REQUIRES: window > 1.
std::optional<OrderSurvival> order_survival(std::span<const PlannedPlace> places,
                                            std::span<const SeenRequest> seen, std::size_t window);

// "the order reached the driver: 99.2 % of neighbours kept". `layer`: "the driver".
std::string order_sentence(const OrderSurvival& found, const std::string& layer);

}  // namespace blksweep
