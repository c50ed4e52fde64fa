// What became of an intended order of reads by the time that a layer below saw their requests.
//
// Seen:       a read is seen at the first request that overlaps it, whatever is asked later. Reads
//             that one request covers (merged ones) are seen at once, which keeps their order.
//             Reads that are never seen, and requests of nobody, have no part in the figures.
// Kept:       of each two neighbours of the plan that were seen, the share seen in its order.
// Tau:        Kendall's tau (1: as planned, 0: no order, -1: reversed) of pairs within successive
//             windows of the plan, all windows together; inversions: those of them exchanged.
// Reversed:   the share of reads in chains of at least kLeastChain successive requests, each of
//             the reads just before those of the request before it. So reversed batches are found
//             without knowing where batches began; batches below kLeastChain are not.
// Batches:    what the reader submitted together, where it says so, of kLeastChain requests at
//             least; one of which 9 of 10 neighbours (of different requests) are exchanged came out
//             reversed. A plug that is flushed within it leaves a pair or two as they were.
// Displaced:  places between plan and sight, of each read.
// Errors:     none; nothing is known of fewer than two reads.
// Threads:    pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

struct SubmissionOrder {
  std::uint64_t batches = 0, reversed = 0;
};

struct OrderSurvival {
  std::uint64_t reads = 0;
  double kept = 0, tau = 0, reversed = 0;
  std::uint64_t inversions = 0;
  std::optional<std::uint64_t> reversed_run;  // requests in a chain, median; none without any
  std::optional<SubmissionOrder> batches;     // none: where submissions began is not known
  std::uint64_t displaced_p50 = 0, displaced_p99 = 0, displaced_max = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> displaced;  // least places, reads
};

struct OrderQuestion {
  std::span<const PlannedPlace> places;        // by address, disjoint
  std::size_t window = 2;                      // in reads, more than 1
  std::span<const std::uint32_t> submissions;  // the first read of each, ascending; empty: unknown
};

// `seen`: in the order that they were seen in.
std::optional<OrderSurvival> order_survival(const OrderQuestion& question,
                                            std::span<const SeenRequest> seen);

// "the order reached the driver: 99.2 % of neighbours kept". `layer`: "the driver". `batch`: what
// came out reversed, if it did: "plug batch".
std::string order_sentence(const OrderSurvival& found, std::string_view layer,
                           std::string_view batch = "batch");

// One sentence a layer; layers are "queue", "insert", "issue" and "complete", from above. What
// turned the order round is between the first layer that saw it reversed and the one above that did
// not.
struct LayerVerdict {
  std::string layer, text;
};
std::vector<LayerVerdict> order_verdicts(
    std::span<const std::pair<std::string, OrderSurvival>> layers);

}  // namespace blksweep
