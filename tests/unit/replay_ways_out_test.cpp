// What an unfaithful replay says to try: a setting that was not tried yet, by the reason.
#include "replay/ways_out.h"

#include <gtest/gtest.h>

#include "replay/certificate.h"

namespace blksweep {
namespace {

const LeftOut kAllPlaced;

bool names(const std::string& way, const char* setting) {
  return way.find(setting) != std::string::npos;
}

TEST(ReplayWaysOut, NoneIsASettingThatWasInForce) {
  const WaysOut spinning =
      ways_out({.spin_ns = 1'000'000, .disk = "loop0", .left_out = kAllPlaced});
  EXPECT_TRUE(names(spinning.late, "--spin 60us"));
  EXPECT_TRUE(names(spinning.stalled, "--spin 60us"));
  const WaysOut tried = ways_out({.spin_ns = 60'000, .disk = "loop0", .left_out = kAllPlaced});
  EXPECT_FALSE(names(tried.late + tried.stalled, "--spin"));
  EXPECT_TRUE(names(tried.late, "CPU free"));
}

TEST(ReplayWaysOut, SpinningLessHelpsOnlyWhoMaySleep) {
  const WaysOut ways =
      ways_out({.sleeps = false, .spin_ns = 1'000'000, .disk = "loop0", .left_out = kAllPlaced});
  EXPECT_FALSE(names(ways.late + ways.stalled, "--spin"));
}

TEST(ReplayWaysOut, CopiesFromThePageCacheAreNoDirectReads) {
  const WaysOut ways = ways_out({.buffered = true, .left_out = kAllPlaced});
  EXPECT_TRUE(names(ways.late, "without --buffered"));
  EXPECT_TRUE(names(ways.pace, "without --buffered"));
}

TEST(ReplayWaysOut, APlaceCountsForLessAmongMore) {
  EXPECT_TRUE(names(ways_out({.depth = 4, .left_out = kAllPlaced}).pace, "--depth 16"));
  EXPECT_TRUE(names(ways_out({.depth = 100, .left_out = kAllPlaced}).pace, "--depth 128"));
  EXPECT_FALSE(names(ways_out({.depth = 128, .left_out = kAllPlaced}).pace, "--depth"));
}

TEST(ReplayWaysOut, TheSpeedIsOneAtWhichTheToolCanFollow) {
  for (const double speed : {0.5, 1.0, 20.0}) {
    const WaysOut ways = ways_out({.speed = speed, .left_out = kAllPlaced});
    const std::string way = slower(ways, 1'000'000, 100'000);
    ASSERT_TRUE(names(way, "--speed ")) << way;
    const double slow = std::stod(way.substr(way.rfind(' ')));
    EXPECT_LT(1'000'000 * slow / speed, 100'000 / 2.0);
    EXPECT_GT(slow, 0.02 * speed);
  }
  const WaysOut untimed = ways_out({.timed = false, .left_out = kAllPlaced});
  const WaysOut coarse = ways_out({.quantum_ns = 1'000'000'000, .left_out = kAllPlaced});
  EXPECT_EQ(slower(untimed, 2, 1) + slower(coarse, 2, 1), "");
}

TEST(ReplayWaysOut, WhatLacksMostIsRemedied) {
  const LeftOut beyond{{kReadsBeyondDevice, 9}};
  EXPECT_TRUE(names(ways_out({.left_out = beyond}).missing, "--addresses"));
  const LeftOut gone{{"discards", 99}, {kFilesNotThere, 3}, {kNotDirect, 2}};
  EXPECT_TRUE(names(ways_out({.left_out = gone}).missing, "--like"));
  const LeftOut cached{{kFilesNotThere, 1}, {kNotDirect, 2}};
  EXPECT_TRUE(names(ways_out({.left_out = cached}).missing, "--buffered"));
  EXPECT_EQ(ways_out({.left_out = kAllPlaced}).missing, "");
}

TEST(ReplayWaysOut, EachReasonOfACertificateEndsInIts) {
  ReplayRecord record(true);
  for (int i = 0; i < 100; ++i) {
    record.issued({}, {.due_ns = 0, .issued_ns = 2 * kLateBound});
    record.completed({}, {.now_ns = 100});
  }
  const WaysOut ways{
      .late = "A", .stalled = "B", .stopped = "C", .pace = "", .missing = "D", .speed = 1};
  const auto reasons = record
                           .certify({.stalled_ns = 50,
                                     .stood_still = "stopped",
                                     .own_rate = 1,
                                     .misplaced = 50,
                                     .ways = ways})
                           .reasons;
  ASSERT_EQ(reasons.size(), 5U);
  const char* const ends[] = {": A", ": B", "stopped: C", ": try --speed 0.00045", ": D"};
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    EXPECT_TRUE(reasons[i].ends_with(ends[i])) << reasons[i];
  }
  EXPECT_EQ(with_way("why", ""), "why");
}

}  // namespace
}  // namespace blksweep
