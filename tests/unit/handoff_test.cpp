// A counter between two threads: nobody who waits misses a change, and a bound of time holds.
#include "loader/handoff.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace blksweep {
namespace {

using namespace std::chrono_literals;

TEST(CounterTest, WakesEverybodyForEveryChange) {
  constexpr std::uint32_t kRounds = 20'000;
  Counter ping;
  std::array<Counter, 2> seen;
  std::vector<std::thread> others;
  for (Counter& mine : seen) {
    others.emplace_back([&] {
      for (std::uint32_t i = 1; i <= kRounds && ping.wait_for(i); ++i) {
        mine.publish(i);
      }
    });
  }
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    ping.publish(i);
    ASSERT_TRUE(seen[0].wait_for(i));  // a lost wake-up hangs here
    ASSERT_TRUE(seen[1].wait_for(i));
  }
  for (std::thread& t : others) {
    t.join();
  }
}

TEST(CounterTest, WaitsNoLongerThanAsked) {
  Counter counter;
  counter.publish(3);
  EXPECT_TRUE(counter.settles(3, 0ns));
  EXPECT_FALSE(counter.settles(4, 0ns));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(counter.settles(4, 5ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
}

TEST(CounterTest, AStopEndsAllWaitsAndKeepsTheCount) {
  Counter counter;
  counter.publish(3);
  std::thread waiter([&] { EXPECT_FALSE(counter.wait_for(4)); });
  counter.stop();
  waiter.join();
  EXPECT_TRUE(counter.settles(4, 0ns));
  EXPECT_TRUE(counter.wait_for(3));
  EXPECT_TRUE(counter.stopped());
  EXPECT_EQ(counter.value(), 3U);
}

}  // namespace
}  // namespace blksweep
