#include "loader/open_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace blksweep {
namespace {

Plan random_reads(std::uint32_t files, std::uint32_t reads, std::uint64_t seed) {
  Rng rng(seed);
  Plan plan;
  for (std::uint32_t r = 0; r < reads; ++r) {
    const std::uint64_t kind = rng.below(10);
    const auto file = static_cast<std::uint32_t>(rng.below(files));
    plan.reads.push_back({0, 4096, kind == 0 ? kFromDevice : (kind == 1 ? kZeros : file)});
  }
  return plan;
}

// Replayed: open i puts its file into slot(i), and each read finds its file in its open's slot.
TEST(OpenPlan, EveryReadFindsItsFileAndNoMoreThanCapacityAreOpen) {
  for (const std::uint32_t capacity : {1U, 2U, 3U, 7U, 50U, 500U}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Plan plan = random_reads(40, 2000, seed);
      const OpenPlan opens = make_open_plan(plan, 40, capacity);
      std::vector<std::uint32_t> held(capacity + 1, kFromDevice);
      std::uint32_t opened = 0;
      for (std::size_t r = 0; r < plan.reads.size(); ++r) {
        const std::uint32_t file = plan.reads[r].source;
        if (file == kFromDevice || file == kZeros) {
          continue;
        }
        ASSERT_LE(opens.open_of[r], opened) << "opens come in the order of their first reads";
        if (opens.open_of[r] == opened) {
          const std::uint32_t slot = opens.slot(opened);
          ASSERT_GE(slot, 1U);
          ASSERT_LE(slot, capacity);
          held[slot] = opens.files[opened++];
        }
        ASSERT_EQ(held[opens.slot(opens.open_of[r])], file);
      }
      EXPECT_EQ(opened, opens.files.size());
      EXPECT_EQ(opens.reads, std::ranges::count_if(plan.reads, [](const Read& r) {
                  return r.source != kFromDevice && r.source != kZeros;
                }));
    }
  }
}

TEST(OpenPlan, OpensEachFileOnceWhenAllFit) {
  const Plan plan = random_reads(40, 2000, 3);
  const OpenPlan opens = make_open_plan(plan, 40, 40);
  EXPECT_EQ(opens.files.size(), 40U);
  EXPECT_EQ(std::set(opens.files.begin(), opens.files.end()).size(), 40U);
}

}  // namespace
}  // namespace blksweep
