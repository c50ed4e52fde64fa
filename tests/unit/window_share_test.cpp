// A window in percent is a share of what an epoch takes in it.
#include <gtest/gtest.h>

#include "loader/planned_epoch.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

FlatCatalog files_of(std::uint32_t count, std::uint64_t size) {
  FlatCatalog flat("/data");
  for (std::uint32_t i = 0; i < count; ++i) {
    flat.add("f" + std::to_string(i), size, (i + 1) * 8 * kPageBytes);
  }
  return flat;
}

Result<PlannedEpoch> planned_with(const FlatCatalog& flat, Shuffle shuffle, double percent,
                                  bool direct) {
  Source source;
  source.catalog = flat.view();
  source.direct_align = kSectorBytes;
  source.direct_possible = true;
  LoaderSettings cell;
  cell.direct = direct;
  cell.shuffle = shuffle;
  cell.window = {{}, percent};
  return plan_epoch(source, cell, 7);
}

// Buffered, too: a sample of 10 bytes takes a granule of the window, not its 10 bytes.
TEST(WindowShare, HoldsThatShareOfTheSamplesHoweverSmallTheyAre) {
  const FlatCatalog flat = files_of(1000, 10);
  const Result<PlannedEpoch> p = planned_with(flat, Shuffle::buffer, 50, false);
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->window.n, 500 * kSectorBytes);
  EXPECT_EQ(p->schedule.window_peak.n, 500 * kSectorBytes);
}

TEST(WindowShare, OfEverythingHoldsAFullShuffle) {
  for (const std::uint64_t size : {1U, 511U, 512U, 5000U}) {
    for (const bool direct : {false, true}) {
      const Result<PlannedEpoch> p = planned_with(files_of(50, size), Shuffle::full, 100, direct);
      EXPECT_TRUE(p) << size << ": " << p.error().message();
    }
  }
}

}  // namespace
}  // namespace blksweep
