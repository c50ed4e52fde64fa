// What became of the plan's order at each layer that the probe saw (stats/order_survival.h), in
// windows of the depth.
//
// Layers:  issue, and complete where the completion of each request was seen; queue and insert
//          where the probe followed them (ProbeSettings::layers) and the reads were there: insert,
//          where at least kMostPass of those that were issued.
// Unknown: a layer whose log lacks requests, or has fewer than kLeastSeen of the plan's reads; all
//          of them with lost events, of several epochs (a block is in the plan more than once),
//          without addresses, and where reads share blocks.
// Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "store/records.h"

namespace blksweep {

inline constexpr double kMostPass = 0.9;

struct OrderInputs {
  const Catalog& catalog;
  const Plan& plan;
  std::uint32_t depth;                         // reads in flight
  std::span<const std::uint32_t> submissions;  // as in OrderQuestion
};

std::vector<OrderRecord> order_records(const ProbeRecord& probe, const OrderInputs& in);

}  // namespace blksweep
