#include "experiment/record/order_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "experiment/proof/map_proof.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;

struct OrderRig {
  SyntheticCatalog data{{.files = 400}};
  Catalog catalog = data.view();
  Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::random}), 1, {});
  std::vector<std::uint32_t> submissions;

  // One request for each place, in the plan's order: the n-th is issued at n and takes `latency`.
  ProbeRecord probe(std::int64_t latency = 5) const {
    std::vector<PlannedPlace> places = planned_places(catalog, plan);
    std::ranges::stable_sort(places, {}, &PlannedPlace::read);
    ProbeRecord p;
    for (const PlannedPlace& place : places) {
      const auto at = static_cast<std::int64_t>(p.issues.size());
      p.issues.push_back({at, place.begin / kSectorBytes,
                          static_cast<std::uint32_t>(place.end - place.begin), latency});
    }
    p.requests = p.issues.size();
    return p;
  }

  std::vector<OrderRecord> orders(const ProbeRecord& p, std::uint32_t depth = 32) const {
    return order_records(p, {catalog, plan, depth, submissions});
  }
};

void reverse_groups(std::vector<IssuePoint>& points, std::size_t of) {
  for (std::size_t i = 0; i < points.size(); i += of) {
    std::ranges::reverse(std::span(points).subspan(i, std::min(of, points.size() - i)));
  }
}

TEST(OrderRecords, EachLayerIsJudgedByWhatItSaw) {
  const OrderRig rig;
  ProbeRecord p = rig.probe();
  p.queued = p.issues;
  reverse_groups(p.issues, 32);
  for (std::size_t i = 0; i < p.issues.size(); ++i) {
    p.issues[i].at_ns = static_cast<std::int64_t>(i);
  }
  const auto orders = rig.orders(p);
  ASSERT_EQ(orders.size(), 3U);  // nothing was inserted
  EXPECT_EQ(orders[0].layer, "queue");
  EXPECT_EQ(orders[0].kept, 1.0);
  EXPECT_EQ(orders[0].verdict,
            "the order reached the block layer: 100.0 % of neighbours kept, tau 1.00");
  EXPECT_EQ(orders[1].layer, "issue");
  EXPECT_GT(orders[1].reversed, 0.9);
  EXPECT_EQ(orders[1].verdict.find("reversed in every plug batch before the driver"), 0U)
      << orders[1].verdict;
  EXPECT_EQ(orders[2].layer, "complete");
}

// A synchronous engine keeps one read in flight: there is an order all the same.
TEST(OrderRecords, OneReadAtATimeIsJudgedByPairs) {
  const OrderRig rig;
  ProbeRecord p = rig.probe();
  for (const bool reversed : {false, true}) {
    for (const OrderRecord& o : rig.orders(p, 1)) {
      EXPECT_EQ(o.tau, reversed ? -1.0 : 1.0) << o.layer;
      EXPECT_EQ(o.inversions > 0, reversed) << o.layer;
    }
    reverse_groups(p.issues, p.issues.size());
    for (std::size_t i = 0; i < p.issues.size(); ++i) {
      p.issues[i].at_ns = static_cast<std::int64_t>(i);
    }
  }
}

TEST(OrderRecords, AFewInsertedReadsAreNoScheduler) {
  const OrderRig rig;
  ProbeRecord p = rig.probe();
  p.inserted.assign(p.issues.begin(), p.issues.begin() + 50);
  for (const OrderRecord& o : rig.orders(p)) {
    EXPECT_NE(o.layer, "insert");
  }
  p.inserted = p.issues;
  EXPECT_EQ(rig.orders(p)[0].layer, "insert");
}

// Each pair of neighbours is issued as planned, and completed the other way round.
TEST(OrderRecords, CompletionIsAnOrderOfItsOwn) {
  const OrderRig rig;
  ProbeRecord p = rig.probe(12);
  for (std::size_t i = 1; i < p.issues.size(); i += 2) {
    p.issues[i].latency_ns = 10;
  }
  const auto orders = rig.orders(p);
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].inversions, 0U);
  EXPECT_GT(orders[1].inversions, 0U);
  EXPECT_EQ(orders[1].displaced_max, 1U);
}

TEST(OrderRecords, ACompletionThatWasNotSeenLeavesThatLayerOut) {
  const OrderRig rig;
  ProbeRecord p = rig.probe();
  p.issues[7].latency_ns.reset();
  const auto orders = rig.orders(p);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].layer, "issue");
}

TEST(OrderRecords, WhatIsNotWholeSaysNothing) {
  const OrderRig rig;
  ProbeRecord p = rig.probe();
  ++p.requests;  // the log was thinned
  EXPECT_TRUE(rig.orders(p).empty());
  p = rig.probe();
  p.lost_events = 1;
  EXPECT_TRUE(rig.orders(p).empty());
  p = rig.probe();
  p.issues.resize(kLeastSeen - 1);
  p.requests = p.issues.size();
  EXPECT_TRUE(rig.orders(p).empty());
  const Plan twice =
      make_plan(rig.catalog, make_order(rig.catalog, {.order = Order::lba, .epochs = 2}), 2, {});
  EXPECT_TRUE(order_records(rig.probe(), {rig.catalog, twice, 32, {}}).empty());
}

TEST(OrderRecords, SubmissionsThatCameOutReversedAreCounted) {
  OrderRig rig;
  ProbeRecord p = rig.probe();
  ASSERT_EQ(p.issues.size(), rig.plan.reads.size());  // one place a read, as the cut below needs
  for (std::uint32_t r = 0; r < rig.plan.reads.size(); r += 10) {
    rig.submissions.push_back(r);
  }
  std::ranges::reverse(std::span(p.issues).first(10));
  const auto orders = rig.orders(p);
  ASSERT_FALSE(orders.empty());
  EXPECT_EQ(orders[0].batches, rig.submissions.size());
  EXPECT_EQ(orders[0].batches_reversed, 1U);
}

}  // namespace
}  // namespace blksweep
