#include "store/summary/twin_summary.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace blksweep {
namespace {

// Ten rounds of the same ratio to a twin whose clock says this.
TwinSummary ten_rounds(double ratio, std::int64_t runtime_ns) {
  std::vector<StoredRun> runs(10);
  std::vector<const StoredRun*> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    FioRecord twin;
    twin.ratio = ratio * (i % 2 == 0 ? 1.0001 : 0.9999);
    twin.runtime_ns = runtime_ns;
    runs[i].run.fio = runs[i].run.fio_plain = twin;
    all.push_back(&runs[i]);
  }
  return twin_summary(all);
}

Finding finding_of(const TwinSummary& twins) {
  return find_verdicts(std::array{*twins.ratio})[0].finding;
}

// fio says 2 ms of all that takes more than 1 ms: 1.5 ms is stored, and equal runs of 1.95 ms have
// 1.5 / 1.95 in every round.
TEST(TwinSummary, AStepOfFiosClockIsNoDifference) {
  const TwinSummary coarse = ten_rounds(1.5 / 1.95, 1'500'000);
  EXPECT_TRUE(coarse.ratio->interval->contains(1.0));
  EXPECT_TRUE(coarse.ratio->ranked->contains(1.0));
  EXPECT_EQ(finding_of(coarse), Finding::not_shown);
  EXPECT_TRUE(coarse.plain_ratio->interval->contains(1.0));
  EXPECT_EQ(finding_of(ten_rounds(0.77, 1'500'000'000)), Finding::slower) << "a long run";
  EXPECT_EQ(finding_of(ten_rounds(0.1, 1'500'000)), Finding::slower) << "more than the step";
}

// Within its first step fio may have taken any time at all.
TEST(TwinSummary, OfFiosFirstStepThereIsAnEstimateAlone) {
  const TwinSummary first = ten_rounds(0.5, 500'000);
  EXPECT_NEAR(first.ratio->value, 0.5, 1e-6);
  EXPECT_FALSE(first.ratio->interval || first.ratio->ranked || first.ratio->p);
  EXPECT_EQ(finding_of(first), Finding::none);
  EXPECT_NE(twin_notes("lba", first).find("lba: no interval of ours / fio: fio took"),
            std::string::npos);
}

}  // namespace
}  // namespace blksweep
