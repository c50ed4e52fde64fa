#include "disk/pacing.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "disk/fixed_delay.h"
#include "disk/speedup.h"

namespace blksweep {
namespace {

constexpr std::int64_t kStart = 5'000'000;

Pacing fixed(std::int64_t delay_ns, double speedup, std::int64_t path_ns) {
  return {std::make_unique<FixedDelay>(delay_ns), {kStart, speedup, path_ns}};
}

std::vector<DueReply> due_at(Pacing& pacing, std::int64_t real_ns) {
  std::vector<DueReply> out;
  pacing.take_due(real_ns, out);
  return out;
}

TEST(Pacing, RepliesAfterTheDelayAndNotBefore) {
  Pacing pacing = fixed(1000, 1, 0);
  EXPECT_FALSE(pacing.next_reply());
  pacing.arrive(kStart + 200, 7, {0, 4096, false});
  ASSERT_EQ(pacing.next_reply(), kStart + 1200);
  EXPECT_TRUE(due_at(pacing, kStart + 1199).empty());
  const auto due = due_at(pacing, kStart + 1200);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].tag, 7U);
  EXPECT_EQ(due[0].reply_ns, kStart + 1200);
  EXPECT_EQ(due[0].latency_ns, 1000);
  EXPECT_FALSE(pacing.next_reply());
}

TEST(Pacing, SpeedupScalesRealTimeAndLeavesTheModelsLatency) {
  Pacing pacing = fixed(1'000'000, 10, 0);
  pacing.arrive(kStart + 500, 1, {0, 4096, false});
  ASSERT_EQ(pacing.next_reply(), kStart + 500 + 100'000);
  const auto due = due_at(pacing, kStart + 100'500);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].latency_ns, 1'000'000);
}

// What the reader sees is the way there, the time in the daemon and the way back.
TEST(Pacing, ThePathIsNotAddedToTheModelledTime) {
  for (const double speedup : {0.5, 1.0, 10.0}) {
    constexpr std::int64_t kPath = 40'000;
    Pacing pacing = fixed(1'000'000, speedup, kPath);
    const std::int64_t submitted = kStart + 100'000;
    pacing.arrive(submitted + kPath / 2, 1, {0, 4096, false});
    ASSERT_TRUE(pacing.next_reply());
    const std::int64_t seen = *pacing.next_reply() + kPath / 2 - submitted;
    EXPECT_NEAR(static_cast<double>(seen), 1'000'000 / speedup, 1);
  }
}

TEST(Pacing, APathLongerThanTheModelledTimeRepliesAtOnce) {
  Pacing pacing = fixed(10'000, 1, 40'000);
  const std::int64_t arrived = kStart + 100'000;
  pacing.arrive(arrived, 1, {0, 4096, false});
  EXPECT_EQ(due_at(pacing, arrived).size(), 1U);
}

// A closed loop at depth 1 whose replies are handed out late, but never so late that the next
// request comes after the next event: the model's own times do not drift.
TEST(Pacing, LookingLateDoesNotAddUp) {
  Pacing pacing = fixed(1'000'000, 1, 0);
  Rng rng(3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    pacing.arrive(kStart + static_cast<std::int64_t>(i) * 1000, i, {i * 4096, 4096, false});
  }
  std::vector<DueReply> all;
  for (std::int64_t now = kStart; all.size() < 100;
       now += 1 + static_cast<std::int64_t>(rng.below(300'000))) {
    pacing.take_due(now, all);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].tag, i);
    EXPECT_EQ(all[i].reply_ns, kStart + static_cast<std::int64_t>(i) * 1000 + 1'000'000);
  }
}

TEST(Pacing, AnArrivalDatedBackBehindAnEventIsMovedUpToIt) {
  Pacing pacing = fixed(1000, 1, 400);
  pacing.arrive(kStart + 200, 1, {0, 4096, false});  // virtual 0, done at 1000
  ASSERT_EQ(due_at(pacing, kStart + 800).size(), 1U);
  pacing.arrive(kStart + 900, 2, {0, 4096, false});  // dated back to 700: the model is at 1000
  ASSERT_EQ(pacing.next_reply(), kStart + 2000 - 200);
}

// The property the daemon stands on: every request is replied exactly once, whatever the order.
TEST(Pacing, EveryRequestIsRepliedOnce) {
  Rng rng(11);
  Pacing pacing = fixed(50'000, 4, 3000);
  std::vector<int> seen(2000);
  std::vector<DueReply> due;
  std::int64_t now = kStart;
  for (std::uint64_t tag = 0; tag < seen.size(); ++tag) {
    now += static_cast<std::int64_t>(rng.below(9000));
    pacing.arrive(now, tag, {rng.below(1000) * 4096, 4096, rng.below(2) == 0});
    pacing.take_due(now, due);
  }
  pacing.take_due(now + 1'000'000, due);
  for (const DueReply& d : due) {
    ++seen[d.tag];
    EXPECT_GE(d.latency_ns, 0);
  }
  EXPECT_EQ(std::vector<int>(2000, 1), seen);
  EXPECT_FALSE(pacing.next_reply());
}

TEST(Speedup, IsANumberWithinBoundsAndNothingBehindIt) {
  EXPECT_EQ(parse_speedup("0.001").value_or(0), 0.001);
  EXPECT_EQ(parse_speedup("1000").value_or(0), 1000);
  EXPECT_EQ(parse_speedup("2.5").value_or(0), 2.5);
  for (const char* bad : {"", "x", "1x", "2 ", " 2", "0", "-1", "0.0009", "1001", "nan", "inf"}) {
    const auto got = parse_speedup(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().exit_code, Exit::usage) << bad;
    EXPECT_NE(got.error().message().find("'" + std::string(bad) + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace blksweep
