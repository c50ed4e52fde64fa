// A read finds its own file in its slot, however reads fall into groups and however few slots are.
#include "lab/open_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

// The engine's side: all opens of a group fill their slots, then the group's reads look into
// theirs.
std::vector<std::uint32_t> files_found(const OpenPlan& opens, const Plan& plan, Rng& rng) {
  std::vector<std::uint32_t> slots(opens.capacity + 1), found;
  std::uint32_t opened = 0;
  for (std::size_t first = 0; first < plan.reads.size();) {
    const std::size_t last =
        std::min<std::size_t>(plan.reads.size(), first + 1 + rng.below(opens.group));
    for (std::size_t r = first; r < last; ++r) {
      if (opens.open_of[r] == opened) {
        slots[opens.slot(opened)] = opens.files[opened];
        ++opened;
      }
    }
    for (std::size_t r = first; r < last; ++r) {
      found.push_back(slots[opens.slot(opens.open_of[r])]);
    }
    first = last;
  }
  return found;
}

TEST(OpenPlan, EveryReadFindsItsFileWhateverTheGroups) {
  for (const std::uint32_t group : {1U, 2U, 8U, 32U}) {
    for (const std::uint32_t files : {3U, 20U, 70U, 200U}) {
      Rng rng(group, files);
      Plan plan;
      std::vector<std::uint32_t> wanted;
      for (int r = 0; r < 5000; ++r) {
        wanted.push_back(static_cast<std::uint32_t>(rng.below(files)));
        Read read{};
        read.source = wanted.back();
        plan.reads.push_back(read);
      }
      const OpenPlan opens = make_open_plan(plan, files, {2 * group + 1, group});
      EXPECT_EQ(files_found(opens, plan, rng), wanted) << group << " of " << files;
    }
  }
}

TEST(OpenPlan, AFileIsOpenedOnceWhereSlotsSuffice) {
  Plan plan;
  for (std::uint32_t r = 0; r < 100; ++r) {
    Read read{};
    read.source = r % 10;
    plan.reads.push_back(read);
  }
  EXPECT_EQ(make_open_plan(plan, 10, {20, 8}).files.size(), 10U);
}

}  // namespace
}  // namespace blksweep
