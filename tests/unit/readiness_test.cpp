// A batch is ready with its last piece and not before, whatever the order in which reads end.
#include "loader/readiness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;
using support::SyntheticSettings;

// By the definition: the reads that have a piece of a sample of the batch.
std::vector<std::set<std::uint32_t>> reads_of_batches(const Plan& plan, const Schedule& s) {
  std::vector<std::set<std::uint32_t>> reads(s.batches());
  for (std::uint32_t b = 0; b < s.batches(); ++b) {
    std::set<std::uint32_t> parcels;
    for (std::uint32_t i = s.batch_begin[b]; i < s.batch_begin[b + 1]; ++i) {
      parcels.insert(plan.parcel_of(s.emission[i]));
    }
    for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
      for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
        if (parcels.contains(plan.pieces[i].parcel)) {
          reads[b].insert(r);
        }
      }
    }
  }
  return reads;
}

void expect_ready_with_the_last_piece(const SyntheticSettings& shape, Merge merge,
                                      std::uint64_t seed) {
  const SyntheticCatalog data(shape);
  const Catalog c = data.view();
  const MergeSettings m{.merge = merge, .align = 512, .batch = 8, .share = {32768}};
  const Plan plan = make_plan(c, make_order(c, {.order = Order::random}), 1, m);
  const auto schedule = make_schedule(
      c, plan, {.shuffle = Shuffle::reservoir, .window = {1 << 20}, .batch = 5, .seed = seed});
  ASSERT_TRUE(schedule);
  const auto needed = reads_of_batches(plan, *schedule);
  Handoff handoff;
  Readiness readiness(plan, *schedule, handoff);

  std::vector<std::uint32_t> order(plan.reads.size());
  std::iota(order.begin(), order.end(), 0U);
  Rng rng(seed);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[rng.below(i)]);
  }
  std::set<std::uint32_t> done;
  std::uint32_t ready = 0;
  for (const std::uint32_t r : order) {
    readiness.complete({r, plan.first_piece[r], plan.first_piece[r + 1]}, 1);
    readiness.publish(1);
    done.insert(r);
    while (ready < needed.size() && std::ranges::includes(done, needed[ready])) {
      ++ready;
    }
    ASSERT_EQ(readiness.published(), ready) << "after " << done.size() << " reads";
  }
  EXPECT_EQ(ready, schedule->batches());
}

TEST(Readiness, ABatchIsReadyWithItsLastPiece) {
  const SyntheticSettings shapes[] = {{.files = 60, .odd = 0.2, .holes = 0.2},
                                      {.files = 40, .extents_per_file = 4, .mean_bytes = 40000},
                                      {.files = 3,
                                       .mean_bytes = 60000,
                                       .parts_per_file = 30,
                                       .part_stride = 1000,
                                       .part_bytes = 1000}};
  std::uint64_t seed = 0;
  for (const SyntheticSettings& shape : shapes) {
    for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
      expect_ready_with_the_last_piece(shape, merge, ++seed);
    }
  }
}

}  // namespace
}  // namespace blksweep
