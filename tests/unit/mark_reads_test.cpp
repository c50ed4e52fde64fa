#include "experiment/record/mark_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "experiment/proof/map_proof.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

struct MarkRig {
  support::SyntheticCatalog data{{.files = 400}};
  Catalog catalog = data.view();
  Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::random}), 1, {});

  // One for each place, in the plan's order.
  std::vector<IssuePoint> requests() const {
    std::vector<PlannedPlace> places = planned_places(catalog, plan);
    std::ranges::stable_sort(places, {}, &PlannedPlace::read);
    std::vector<IssuePoint> points;
    for (const PlannedPlace& place : places) {
      points.push_back(
          {0, place.begin / kSectorBytes, static_cast<std::uint32_t>(place.end - place.begin)});
    }
    return points;
  }
};

// The batch of the only sample that a read of an unmerged plan is for.
std::ptrdiff_t batch_of(const Plan& plan, const Schedule& schedule, std::uint32_t read) {
  const std::uint32_t position = plan.pieces[plan.first_piece[read]].parcel;
  const auto index = std::ranges::find(schedule.emission, position) - schedule.emission.begin();
  return index / schedule.batch_begin[1];
}

TEST(MarkReads, EachRequestIsToldItsReadAndTheBatchThatWaitsForIt) {
  const MarkRig rig;
  std::vector<IssuePoint> points = rig.requests();
  points.push_back({0, std::uint64_t{1} << 50, kPageBytes});  // of nobody
  const auto schedule =
      make_schedule(rig.catalog, rig.plan, {.shuffle = Shuffle::full, .batch = 7});
  ASSERT_TRUE(schedule);
  mark_reads(points, rig.catalog, rig.plan, *schedule);
  EXPECT_FALSE(points.back().read || points.back().batch);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    ASSERT_EQ(points[i].read, i);
    ASSERT_EQ(points[i].batch, batch_of(rig.plan, *schedule, static_cast<std::uint32_t>(i)));
  }
}

TEST(MarkReads, ARequestOfTwoReadsIsOfTheFirstBatchThatWaits) {
  const MarkRig rig;
  const std::vector<PlannedPlace> places = planned_places(rig.catalog, rig.plan);
  const std::uint64_t begin = places[0].begin;
  std::vector<IssuePoint> points{
      {0, begin / kSectorBytes, static_cast<std::uint32_t>(places[1].end - begin)}};
  const auto schedule =
      make_schedule(rig.catalog, rig.plan, {.shuffle = Shuffle::full, .batch = 1});
  ASSERT_TRUE(schedule);
  mark_reads(points, rig.catalog, rig.plan, *schedule);
  EXPECT_EQ(points[0].batch, std::min(batch_of(rig.plan, *schedule, places[0].read),
                                      batch_of(rig.plan, *schedule, places[1].read)));
}

// A batch has to wait for what is read to its row, also where a resident is delivered from there.
TEST(MarkReads, InPlaceTheBatchOfARowWaitsForWhatIsReadToIt) {
  const MarkRig rig;
  Schedule schedule;
  schedule.emission.resize(rig.plan.order.size());
  std::iota(schedule.emission.begin(), schedule.emission.end(), 0U);
  std::swap(schedule.emission[2], schedule.emission.back());  // position 2 stays to the end
  const auto all = static_cast<std::uint32_t>(rig.plan.order.size());
  schedule.batch_begin = {0, 1, 2, 3, all};
  const auto marked = [&](std::uint32_t position) {
    std::vector<IssuePoint> points = rig.requests();
    mark_reads(points, rig.catalog, rig.plan, schedule);
    return points[std::ranges::find(rig.plan.pieces, position, &Piece::parcel) -
                  rig.plan.pieces.begin()]
        .batch;
  };
  EXPECT_EQ(marked(2), 3U);
  schedule.in_place.held = 1;  // position i has the row of emission i - 1
  EXPECT_EQ(marked(1), 0U);
  EXPECT_EQ(marked(2), 1U);
}

// Three reads of the device, a batch each: `wide` bridges a gap in which `inner` lies, `next` is
// behind it.
struct NestedRig {
  static constexpr std::uint32_t kWide = 0, kInner = 1, kNext = 2;  // batches 1, 0, 2
  static constexpr std::uint64_t kMib = 1 << 20;
  MarkRig data;
  Plan plan;
  Schedule schedule;

  NestedRig() {
    plan.order = {0, 1, 2};
    plan.reads = {
        {0, kMib, kFromDevice}, {300 << 10, 16 << 10, kFromDevice}, {kMib, 4096, kFromDevice}};
    plan.pieces = {{0, 0, 0, 4096}, {1, 0, 0, 16 << 10}, {2, 0, 0, 4096}};
    plan.first_piece = {0, 1, 2, 3};
    plan.parcel_bytes = {4096, 16 << 10, 4096};
    schedule.emission = {1, 0, 2};
    schedule.batch_begin = {0, 1, 2, 3};
  }

  IssuePoint mark(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t at = (data.catalog.partition_start + begin) / kSectorBytes;
    std::vector<IssuePoint> points{{0, at, static_cast<std::uint32_t>(bytes)}};
    mark_reads(points, data.catalog, plan, schedule);
    return points[0];
  }
};

TEST(MarkReads, AReadWithinTheGapOfAnotherOneIsNotTakenForIt) {
  const NestedRig rig;
  const auto is = [&rig](std::uint64_t begin, std::uint64_t bytes, std::uint32_t read,
                         std::uint32_t batch) {
    const IssuePoint p = rig.mark(begin, bytes);
    EXPECT_EQ(p.read, read) << begin << " " << bytes;
    EXPECT_EQ(p.batch, batch) << begin << " " << bytes;
  };
  is(0, NestedRig::kMib, NestedRig::kWide, 1);
  is(300 << 10, 16 << 10, NestedRig::kInner, 0);
  is(500 << 10, 64 << 10, NestedRig::kWide, 1);            // a part that was split off
  is(0, NestedRig::kMib + 4096, NestedRig::kWide, 1);      // with what is behind it
  is(512 << 10, (512 << 10) + 4096, NestedRig::kWide, 1);  // likewise, of its second half
  is(NestedRig::kMib, 4096, NestedRig::kNext, 2);
}

}  // namespace
}  // namespace blksweep
