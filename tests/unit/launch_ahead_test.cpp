// What keeps an accelerator fed, and what comes behind an arrival: batches are launched while their
// copies are under way, and memory is given back when nobody waits for it.
#include <gtest/gtest.h>

#include "support/copy_loop_rig.h"

namespace blksweep {
namespace {

using LaunchAhead = CopyLoopRig;

// A stage whose batch is there before the stage has given back what it took for it.
TEST_F(LaunchAhead, ABatchHasArrivedWhenTheStageSaysSoAndNotBeforeTheTransfer) {
  ScriptedCopy copy;
  copy.times = {{10, 45}, {20, 30}};
  ASSERT_TRUE(run(copy, 2));
  EXPECT_EQ(times(3).arrived(), 45);
  EXPECT_EQ(times(3)[Stage::copy]->begin, 10);
  EXPECT_EQ(times(3)[Stage::transfer]->begin, 20);
  EXPECT_EQ(times(3)[Stage::transfer]->end, 30);
}

// The accelerator is fed while the copy is under way: nobody has to wake up when it ends.
TEST_F(LaunchAhead, ABatchIsLaunchedBehindItsArrivalWhileItsCopyIsUnderWay) {
  ScriptedCopy copy;
  ScriptedConsumer consumer;
  copy.ahead = 2;
  copy.arrives = BatchArrival{.at_ns = 77};
  consumer.waits = true;
  consumer.on_launch = [&](std::uint32_t batch) {
    EXPECT_EQ(copy.begun, batch + 1);
    EXPECT_LE(copy.finished, batch) << "its own copy was waited for";
  };
  ASSERT_TRUE(run(copy, 2, &consumer));
  ASSERT_EQ(consumer.launched.size(), kCopiedBatches);
  for (const BatchArrival& arrival : consumer.launched) {
    EXPECT_EQ(arrival.at_ns, 77);
  }
}

TEST_F(LaunchAhead, WhatCannotBeWaitedForIsLaunchedWhenItHasArrived) {
  for (const bool knows : {false, true}) {
    ScriptedCopy copy;
    ScriptedConsumer consumer;
    copy.ahead = 2;
    copy.times = {{10, 45}, {20, 30}};
    copy.arrives = knows ? std::optional(BatchArrival{.event = &copy}) : std::nullopt;
    consumer.waits = !knows;
    consumer.on_launch = [&](std::uint32_t batch) { EXPECT_EQ(copy.finished, batch + 1); };
    ASSERT_TRUE(run(copy, 2, &consumer));
    ASSERT_EQ(consumer.launched.size(), kCopiedBatches);
    for (const BatchArrival& arrival : consumer.launched) {
      EXPECT_EQ(arrival.at_ns, 45);
      EXPECT_EQ(arrival.event, nullptr);
    }
  }
}

TEST_F(LaunchAhead, NoMoreIsLaunchedThanThereAreSlots) {
  for (const std::uint32_t slots : {1U, 2U, 5U}) {
    ScriptedCopy copy;
    ScriptedConsumer consumer;
    std::uint32_t most = 0;
    copy.ahead = 8;
    copy.arrives = BatchArrival{};
    consumer.waits = true;
    consumer.on_launch = [&](std::uint32_t batch) {
      most = std::max(most, batch + 1 - handoff_->consumed.value());
    };
    ASSERT_TRUE(run(copy, slots, &consumer));
    EXPECT_LE(most, slots);
  }
}

TEST_F(LaunchAhead, ALaunchThatFailsEndsTheRunAndDrainsTheCopies) {
  for (const bool waits : {false, true}) {
    ScriptedCopy copy;
    ScriptedConsumer consumer;
    copy.ahead = 2;
    copy.arrives = BatchArrival{};
    consumer.waits = waits;
    consumer.fail_launch = 5;
    const Result<> result = run(copy, 2, &consumer);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), "launch of batch 5: made to fail");
    EXPECT_EQ(copy.finished, copy.begun);
    EXPECT_LE(finished_, 5U);
  }
}

// The consumer has the batch while the stage is still giving back what it took for it; the window's
// memory comes back after both.
TEST_F(LaunchAhead, AnArrivalIsPublishedBeforeMemoryIsGivenBack) {
  ScriptedCopy copy;
  copy.gives_back = Releases::arrived;
  copy.on_release = [this](std::uint32_t batch) {
    EXPECT_EQ(handoff_->copied.value(), batch + 1);
    EXPECT_LE(handoff_->consumed.value(), batch) << "its memory is not the reader's yet";
  };
  ScriptedConsumer consumer;
  ASSERT_TRUE(run(copy, 2, &consumer));
  EXPECT_EQ(copy.released, kCopiedBatches);
  for (const BatchTimes& t : handoff_->times) {
    EXPECT_GE(t.consumed, t[Stage::release]->end);
    EXPECT_GE(t.consumed, t[Stage::compute]->end);
  }
}

TEST_F(LaunchAhead, MemoryThatABatchLiesInIsGivenBackWhenItsSlotIsUsedAgain) {
  ScriptedCopy copy;
  copy.gives_back = Releases::consumed;
  copy.on_release = [&](std::uint32_t batch) {
    EXPECT_EQ(copy.begun, batch + 2);
    EXPECT_GT(handoff_->consumed.value(), batch);
  };
  ScriptedConsumer consumer;
  ASSERT_TRUE(run(copy, 2, &consumer));
  EXPECT_EQ(copy.released, kCopiedBatches - 2) << "the last ones go with the stage";
  EXPECT_GE(times(3)[Stage::release]->begin, times(3).consumed);
}

TEST_F(LaunchAhead, AReleaseThatFailsEndsTheRun) {
  ScriptedCopy copy;
  copy.gives_back = Releases::arrived;
  copy.fail_release = 7;
  const Result<> result = run(copy, 2);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "copy of batch 7: made to fail");
  EXPECT_LE(finished_, 7U) << "without its memory given back it is not through";
}

TEST_F(LaunchAhead, KeepsWhatTheAcceleratorDidByItsOwnClock) {
  ScriptedCopy copy;
  copy.pieces = 3;
  ScriptedConsumer consumer;
  ASSERT_TRUE(run(copy, 2, &consumer));
  ASSERT_EQ(work_.transfers.size(), 3 * kCopiedBatches);
  ASSERT_EQ(work_.kernels.size(), kCopiedBatches);
  for (std::uint32_t b = 0; b < kCopiedBatches; ++b) {
    EXPECT_EQ(work_.transfers[3 * b + 2].batch, b);
    EXPECT_EQ(work_.kernels[b].batch, b);
    EXPECT_EQ(work_.kernels[b].begin, times(b)[Stage::compute]->begin + 1);
  }
}

}  // namespace
}  // namespace blksweep
