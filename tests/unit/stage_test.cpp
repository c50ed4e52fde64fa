#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <stop_token>
#include <thread>

#include "base/clock.h"
#include "stage/consumer.h"
#include "stage/deadline.h"
#include "stage/emulated_copy.h"
#include "stage/virtual_link.h"

namespace blksweep {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Bytes kOneBytePerNs{1'000'000'000};

TEST(VirtualLink, ATransferTakesItsLatencyAndItsBytes) {
  VirtualLink link({kOneBytePerNs, microseconds(10), 1});
  const TimeSpan t = link.take(5'000, 100);
  EXPECT_EQ(t.begin, 100);
  EXPECT_EQ(t.end, 100 + 10'000 + 5'000);
}

TEST(VirtualLink, OneLaneTakesOneTransferAfterTheOther) {
  VirtualLink link({kOneBytePerNs, microseconds(10), 1});
  const TimeSpan first = link.take(5'000, 0);
  const TimeSpan second = link.take(1'000, 0);
  EXPECT_EQ(second.begin, first.end);
  EXPECT_EQ(second.end, first.end + 11'000);
}

// The bytes of all lanes share the bandwidth; only latencies hide behind other lanes' bytes.
TEST(VirtualLink, MoreLanesHideTheLatencyAndNotTheBytes) {
  VirtualLink link({kOneBytePerNs, microseconds(10), 2});
  std::int64_t end = 0;
  for (int i = 0; i < 100; ++i) {
    end = link.take(50'000, 0).end;
  }
  EXPECT_EQ(end, 10'000 + 100 * 50'000);
}

TEST(VirtualLink, AnIdleLinkStartsWhenItIsAsked) {
  VirtualLink link({kOneBytePerNs, Nanos{0}, 3});
  EXPECT_EQ(link.take(10, 0).end, 10);
  EXPECT_EQ(link.take(10, 1'000'000).begin, 1'000'000);
  EXPECT_EQ(link.take(0, 2'000'000).end, 2'000'000);
}

// Gigabytes at 1 B/s, again and again: longer than any clock, and never back.
TEST(VirtualLink, WhatNoClockReachesEndsAtTheEndOfTime) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t lanes : {1U, 3U}) {
    VirtualLink link({Bytes{1}, Nanos{kEnd}, lanes});
    std::int64_t before = 0;
    for (int i = 0; i < 10; ++i) {
      const TimeSpan t = link.take(std::uint64_t{1} << 62, 1'000'000 * i);
      EXPECT_GE(t.begin, 0);
      EXPECT_GE(t.end, std::max(before, t.begin));
      before = t.end;
    }
    EXPECT_EQ(before, kEnd);
    EXPECT_EQ(link.duration(5), 5'000'000'000);
  }
}

TEST(EmulatedCopy, FinishesNotBeforeTheLinkDoes) {
  const auto copy = make_emulated_copy({kOneBytePerNs, milliseconds(1), 1});
  const std::array<std::byte, 10> bytes{};
  const std::array<BatchPart, 2> parts{{{bytes.data(), 1'000'000}, {bytes.data(), 1'000'000}}};
  const std::int64_t before = now_ns();
  ASSERT_TRUE(copy->begin(0, parts));
  ASSERT_TRUE(copy->begin(1, parts));
  const auto first = copy->finish(0);
  ASSERT_TRUE(first);
  EXPECT_GE(now_ns(), first->transfer.end);
  const auto second = copy->finish(1);
  ASSERT_TRUE(second);
  EXPECT_GE(now_ns(), second->transfer.end);
  EXPECT_GE(first->all.begin, before);
  EXPECT_EQ(first->transfer.end - first->transfer.begin, 3'000'000);
  EXPECT_EQ(second->transfer.begin, first->transfer.end);
  EXPECT_EQ(second->transfer.end - second->transfer.begin, 3'000'000);
  EXPECT_EQ(copy->staged(0), nullptr);
}

TEST(EmulatedCopy, KeepsTheLinkBusyAheadOfTheBatchThatItWaitsFor) {
  EXPECT_EQ(make_emulated_copy({kOneBytePerNs, Nanos{0}, 1})->in_flight(), 2U);
  EXPECT_EQ(make_emulated_copy({kOneBytePerNs, Nanos{0}, 4})->in_flight(), 5U);
}

TEST(SleepUntil, EndsAtItsDeadlineOrAtAStop) {
  const std::int64_t soon = now_ns() + 2'000'000;
  EXPECT_TRUE(sleep_until(soon));
  EXPECT_GE(now_ns(), soon);
  EXPECT_TRUE(sleep_until(soon)) << "it is over";
  std::stop_source stop;
  EXPECT_TRUE(sleep_until(now_ns() + 1'000'000, stop.get_token()));
  std::jthread later([&stop] { stop.request_stop(); });
  const Result<> woken = sleep_until(std::numeric_limits<std::int64_t>::max(), stop.get_token());
  ASSERT_FALSE(woken);
  EXPECT_EQ(woken.error().exit_code, Exit::interrupted);
  EXPECT_FALSE(sleep_until(std::numeric_limits<std::int64_t>::max(), stop.get_token()));
}

TEST(EmulatedStages, AStopWakesThem) {
  std::stop_source stop;
  const auto copy = make_emulated_copy({Bytes{1}, Nanos{0}, 1}, stop.get_token());
  const auto consumer = make_emulated_consumer(2, stop.get_token());
  const std::byte one{};
  const std::array<BatchPart, 1> part{{{&one, 1'000'000}}};
  ASSERT_TRUE(copy->begin(0, part));
  std::jthread later([&stop] { stop.request_stop(); });
  const auto copied = copy->finish(0);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().exit_code, Exit::interrupted);
  ASSERT_TRUE(consumer->launch(0, std::chrono::hours(1), {.at_ns = now_ns()}));
  const auto computed = consumer->finish(0);
  ASSERT_FALSE(computed);
  EXPECT_EQ(computed.error().exit_code, Exit::interrupted);
}

TEST(EmulatedConsumer, IsBusyForItsTimeFromTheArrivalOn) {
  const auto consumer = make_emulated_consumer(1);
  const BatchArrival soon{.at_ns = now_ns() + 2'000'000};
  ASSERT_TRUE(consumer->waits_for(soon));
  ASSERT_TRUE(consumer->launch(0, milliseconds(3), soon));
  EXPECT_LT(now_ns(), soon.at_ns + 3'000'000) << "it is put there and not waited for";
  const auto t = consumer->finish(0);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->host.begin, soon.at_ns);
  EXPECT_EQ(t->host.end, soon.at_ns + 3'000'000);
  EXPECT_EQ(t->device, t->host);
  EXPECT_GE(now_ns(), t->host.end);
}

// What nobody had put there could not have begun.
TEST(EmulatedConsumer, DoesNotBeginBeforeItIsLaunched) {
  const auto consumer = make_emulated_consumer(1);
  const std::int64_t launched = now_ns();
  ASSERT_TRUE(consumer->launch(0, Nanos{1'000}, {.at_ns = launched - 1'000'000}));
  const auto t = consumer->finish(0);
  ASSERT_TRUE(t);
  EXPECT_GE(t->host.begin, launched);
}

// An accelerator does not wait for the thread that feeds it: what was launched meanwhile follows at
// once.
TEST(EmulatedConsumer, LosesNothingBetweenBatchesThatAreLaunchedAhead) {
  constexpr std::uint32_t kAhead = 2;
  const auto consumer = make_emulated_consumer(kAhead);
  const BatchArrival there{.at_ns = now_ns() + 5'000'000};
  ASSERT_TRUE(consumer->launch(0, milliseconds(10), there));
  std::int64_t before = there.at_ns;
  for (std::uint32_t b = 0; b < 10; ++b) {
    const std::int64_t launched = now_ns();
    ASSERT_TRUE(consumer->launch(b + 1, milliseconds(10), there));
    const auto t = consumer->finish(b);
    ASSERT_TRUE(t);
    EXPECT_TRUE(t->host.begin == before || launched > before) << "the test itself was too late";
    before = t->host.end;
  }
}

TEST(EmulatedConsumer, CannotWaitForWhatOnlyAGpuKnows) {
  const int event = 0;
  EXPECT_FALSE(make_emulated_consumer(1)->waits_for({.event = &event}));
}

}  // namespace
}  // namespace blksweep
