// Which two runs are a pair: of one round and of one session, and both delivered something.
#include "store/summary/pairs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace blksweep {
namespace {

StoredRun run_of(std::uint32_t round, std::int64_t session, std::uint64_t samples) {
  StoredRun r;
  r.run.repeat = round;
  r.run.session_id = session;
  r.run.samples = samples;
  r.run.epoch_ns = 1'000'000'000;
  return r;
}

PairRatios ratios_of(const std::vector<StoredRun>& runs, const std::vector<StoredRun>& baseline) {
  std::vector<const StoredRun*> mine, theirs;
  for (const StoredRun& r : runs) {
    mine.push_back(&r);
  }
  for (const StoredRun& r : baseline) {
    theirs.push_back(&r);
  }
  return pair_ratios(mine, theirs);
}

TEST(Pairs, AreOfOneRoundAndOneSession) {
  const PairRatios pairs =
      ratios_of({run_of(0, 1, 300), run_of(1, 1, 500), run_of(2, 1, 500), run_of(3, 2, 100)},
                {run_of(3, 2, 200), run_of(0, 1, 100), run_of(1, 2, 100)});
  EXPECT_EQ(pairs.ratios, (std::vector<double>{3, 0.5}));
  EXPECT_EQ(pairs.split, 1U) << "round 1 is of two sessions, round 2 of one run";
}

TEST(Pairs, OfARunThatDeliveredNothingThereAreNone) {
  for (const auto& [mine, theirs] : {std::pair{0U, 100U}, {100U, 0U}, {0U, 0U}}) {
    const PairRatios pairs = ratios_of({run_of(0, 1, mine)}, {run_of(0, 1, theirs)});
    EXPECT_TRUE(pairs.ratios.empty()) << mine << ' ' << theirs;
    EXPECT_EQ(pairs.split, 0U);
  }
}

}  // namespace
}  // namespace blksweep
