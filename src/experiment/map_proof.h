// Whether the disk saw the reads where the plan has them: the strongest proof of its addresses.
//
// Share:   of the bytes of requests that the probe saw, those of requests that begin where the plan
//          reads. What is beside it is metadata and other readers.
// Order:   rank correlation (Spearman) of when those were issued with their places in the plan. A
//          queue moves requests by its depth; under another disk's map they come in no order at
//          all, also where the same blocks are read in the end.
// Survival: what became of the plan's order in detail (stats/order_survival.h), in windows of
//          `depth`, at least 2. It is true only of a log that has every request.
// Unknown: of several epochs (a block is in the plan more than once), without addresses, from fewer
//          than kLeastSeen requests; the order, too, from fewer than kDepthsSeen times `depth`: a
//          scheduler may have sorted all of them; the survival, from fewer than kLeastSeen reads,
//          or where reads share blocks.
// Threads: pure.
#pragma once

#include <optional>
#include <span>

#include "plan/plan.h"
#include "stats/order_survival.h"
#include "store/records.h"

namespace blksweep {

inline constexpr std::size_t kLeastSeen = 30, kDepthsSeen = 4;

struct MapProof {
  std::optional<double> in_plan, plan_order;
  std::optional<OrderSurvival> order;
};
// `issued`: by the whole disk, in the order of their issue. `depth`: reads in flight.
MapProof prove_map(const Catalog& catalog, const Plan& plan, std::span<const IssuePoint> issued,
                   std::uint32_t depth);

}  // namespace blksweep
