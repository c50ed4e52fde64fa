// Whether the disk saw the reads where the plan has them: the strongest proof of its addresses.
//
// Share:   of the bytes of requests that the probe saw, those of requests that begin where the plan
//          reads. What is beside it is metadata and other readers.
// Order:   rank correlation (Spearman) of when those were issued with their places in the plan. A
//          queue moves requests by its depth; under another disk's map they come in no order at
//          all, also where the same blocks are read in the end.
// Unknown: of several epochs (a block is in the plan more than once), without addresses, from fewer
//          than kLeastSeen requests; the order, too, from fewer than kDepthsSeen times `depth`: a
//          scheduler may have sorted all of them.
// Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "stats/order_survival.h"
#include "store/records.h"

namespace blksweep {

inline constexpr std::size_t kLeastSeen = 30, kDepthsSeen = 4;

struct MapProof {
  std::optional<double> in_plan, plan_order;
};

// Where on the whole disk the plan reads, by address; reads without an address are not there.
std::vector<PlannedPlace> planned_places(const Catalog& catalog, const Plan& plan);

// `issued`: by the whole disk, in the order of their issue. `depth`: reads in flight.
MapProof prove_map(const Catalog& catalog, const Plan& plan, std::span<const IssuePoint> issued,
                   std::uint32_t depth);

}  // namespace blksweep
