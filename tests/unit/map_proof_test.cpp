#include "experiment/proof/map_proof.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;

struct MapRig {
  SyntheticCatalog data{{.files = 400}};
  Catalog catalog = data.view();
  Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::random}), 1, {});

  // What the disk would see, read by read.
  std::vector<IssuePoint> issued() const {
    std::vector<IssuePoint> out;
    for (const Read& r : plan.reads) {
      for (const ExtentRecord& e : catalog.extents_of(r.source)) {
        if (e.has_address() && e.file_offset <= r.offset && r.offset < e.file_end()) {
          const std::uint64_t at =
              catalog.partition_start + e.device_offset + r.offset - e.file_offset;
          out.push_back({0, at / kSectorBytes, r.length});
        }
      }
    }
    return out;
  }
};

TEST(MapProof, ATrueMapIsWhereAndWhenThePlanIs) {
  const MapRig rig;
  std::vector<IssuePoint> seen = rig.issued();
  ASSERT_GT(seen.size(), 300U);
  for (std::size_t i = 0; i + 32 < seen.size(); i += 32) {  // a queue turns them round
    std::reverse(seen.begin() + static_cast<std::ptrdiff_t>(i),
                 seen.begin() + static_cast<std::ptrdiff_t>(i + 32));
  }
  const MapProof proof = prove_map(rig.catalog, rig.plan, seen, 32);
  EXPECT_EQ(proof.in_plan, 1.0);
  EXPECT_GT(*proof.plan_order, 0.95);
}

TEST(MapProof, TheSameBlocksInAnotherOrderAreAnotherMap) {
  const MapRig rig;
  std::vector<IssuePoint> seen = rig.issued();
  Rng rng(3);
  shuffle(std::span(seen), rng);
  const MapProof proof = prove_map(rig.catalog, rig.plan, seen, 32);
  EXPECT_EQ(proof.in_plan, 1.0);
  EXPECT_LT(std::abs(*proof.plan_order), 0.3);
}

TEST(MapProof, BlocksElsewhereAreNotInThePlan) {
  const MapRig rig;
  std::vector<IssuePoint> seen = rig.issued();
  for (IssuePoint& i : seen) {
    i.sector += std::uint64_t{1} << 40;
  }
  const MapProof proof = prove_map(rig.catalog, rig.plan, seen, 32);
  EXPECT_EQ(proof.in_plan, 0.0);
  EXPECT_FALSE(proof.plan_order);
}

TEST(MapProof, ASchedulerMayHaveSortedAllThatWereInFlight) {
  const MapRig rig;
  std::vector<IssuePoint> seen = rig.issued();
  std::ranges::sort(seen, {}, &IssuePoint::sector);
  const auto depth = static_cast<std::uint32_t>(seen.size());
  EXPECT_FALSE(prove_map(rig.catalog, rig.plan, seen, depth).plan_order);
  EXPECT_TRUE(prove_map(rig.catalog, rig.plan, seen, depth / 4).plan_order);
}

TEST(MapProof, FewRequestsAndSeveralEpochsSayNothing) {
  const MapRig rig;
  const std::vector<IssuePoint> seen = rig.issued();
  EXPECT_FALSE(prove_map(rig.catalog, rig.plan, std::span(seen).first(10), 1).in_plan);
  const Plan twice =
      make_plan(rig.catalog, make_order(rig.catalog, {.order = Order::lba, .epochs = 2}), 2, {});
  EXPECT_FALSE(prove_map(rig.catalog, twice, seen, 1).in_plan);
}

}  // namespace
}  // namespace blksweep
