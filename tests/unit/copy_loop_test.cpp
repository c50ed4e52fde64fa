// What the copy thread owes to any copy stage, whatever it is made of: order, slots, and that
// nothing is in flight when an epoch ends.
#include <gtest/gtest.h>

#include "support/copy_loop_rig.h"

namespace blksweep {
namespace {

using CopyLoop = CopyLoopRig;

TEST_F(CopyLoop, BeginsAheadAsFarAsTheStageAndTheSlotsAllow) {
  for (const std::uint32_t ahead : {1U, 2U, 5U}) {
    for (const std::uint32_t slots : {1U, 2U, 8U}) {
      ScriptedCopy copy;
      copy.ahead = ahead;
      ASSERT_TRUE(run(copy, slots));
      EXPECT_EQ(finished_, kCopiedBatches);
      EXPECT_EQ(copy.begun, kCopiedBatches);
      EXPECT_EQ(copy.finished, kCopiedBatches);
      EXPECT_LE(copy.most_in_flight, std::min(ahead, slots));
      EXPECT_EQ(copy.wrong, "");
    }
  }
}

TEST_F(CopyLoop, WithSlotsFreeTheNextCopyIsUnderWayBeforeOneIsWaitedFor) {
  ScriptedCopy copy;
  copy.ahead = 2;
  ASSERT_TRUE(run(copy, 8));
  EXPECT_EQ(copy.most_in_flight, 2U);
}

TEST_F(CopyLoop, AFailureEndsTheRunWithItsWordsAndNothingInFlight) {
  for (const bool at_begin : {true, false}) {
    ScriptedCopy copy;
    copy.ahead = 2;
    (at_begin ? copy.fail_begin : copy.fail_finish) = 17;
    const Result<> result = run(copy, 4);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), "copy of batch 17: made to fail");
    EXPECT_LE(finished_, 17U);
    EXPECT_EQ(copy.finished, copy.begun) << "something was left in flight";
  }
}

TEST_F(CopyLoop, AStopDrainsWhatIsInFlight) {
  ScriptedCopy copy;
  copy.ahead = 3;
  copy.on_finish = [this](std::uint32_t batch) {
    if (batch == 9) {
      handoff_->request_stop();  // as SIGINT does
    }
  };
  ASSERT_TRUE(run(copy, 8));
  EXPECT_EQ(copy.finished, copy.begun);
  EXPECT_LT(copy.begun, kCopiedBatches);
}

TEST_F(CopyLoop, AConsumersFailureEndsTheRunAndDrainsTheCopies) {
  ScriptedCopy copy;
  copy.ahead = 2;
  ScriptedConsumer consumer;
  consumer.fail_batch = 5;
  const Result<> result = run(copy, 2, &consumer);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "kernel of batch 5: made to fail");
  EXPECT_EQ(finished_, 5U);
  EXPECT_EQ(copy.finished, copy.begun);
}

TEST_F(CopyLoop, TheFirstErrorIsTheOneThatComesBack) {
  {
    ScriptedCopy copy;  // fails while it is drained, because the consumer had failed before
    ScriptedConsumer consumer;
    copy.ahead = 2;
    copy.fail_finish = 6;
    copy.on_finish = [this](std::uint32_t batch) {
      if (batch == 6) {
        handoff_->consumed.wait_for(kCopiedBatches);  // until the stop
      }
    };
    consumer.fail_batch = 5;
    const Result<> result = run(copy, 8, &consumer);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), "kernel of batch 5: made to fail");
  }
  ScriptedCopy copy;
  ScriptedConsumer consumer;
  copy.fail_finish = 17;
  consumer.fail_batch = 5;
  consumer.on_batch = [this](std::uint32_t batch) {
    if (batch == 5) {
      handoff_->consumed.wait_for(kCopiedBatches);
    }
  };
  const Result<> result = run(copy, kCopiedBatches, &consumer);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "copy of batch 17: made to fail");
}

// Batches 0 and 1 are under way, and 2 has no slot: that is what it waits for once both are there.
TEST_F(CopyLoop, AWaitForASlotBeginsWhenNothingElseIsMissing) {
  ScriptedCopy copy;
  ScriptedConsumer consumer;
  std::int64_t through = 0;
  copy.ahead = 2;
  copy.on_finish = [&](std::uint32_t batch) {
    if (batch == 1) {
      through = now_ns();
      handoff_->request_stop();
    }
  };
  consumer.fail_batch = 0;  // if it gets there before the stop: its slot never comes back
  consumer.on_batch = [this](std::uint32_t /*batch*/) {
    handoff_->consumed.wait_for(kCopiedBatches);
  };
  [[maybe_unused]] const Result<> ended = run(copy, 2, &consumer);
  EXPECT_EQ(copy.begun, 2U);
  ASSERT_GT(through, 0);
  EXPECT_GE(times(2)[Stage::copy]->wait, through);
  EXPECT_EQ(times(0)[Stage::copy]->wait, times(0)[Stage::copy]->begin);
  EXPECT_EQ(times(1)[Stage::copy]->wait, times(1)[Stage::copy]->begin);
}

// Each slot comes back while the last copy is under way: it was missing for a while, but never
// alone.
TEST_F(CopyLoop, ASlotThatComesBackDuringTheCopyBeforeWasNotWaitedFor) {
  ScriptedCopy copy;
  copy.ahead = 2;
  copy.on_finish = [this](std::uint32_t batch) { handoff_->consumed.wait_for(batch); };
  ASSERT_TRUE(run(copy, 2));
  EXPECT_EQ(copy.finished, kCopiedBatches);
  for (const BatchTimes& t : handoff_->times) {
    EXPECT_EQ(t[Stage::copy]->wait, t[Stage::copy]->begin);
  }
}

TEST_F(CopyLoop, ADecodedBatchIsCopiedWhileTheOneBeforeIsUnderWay) {
  ScriptedCopy copy;
  copy.ahead = 3;
  copy.on_finish = [this](std::uint32_t batch) {
    if (batch == 0) {
      handoff_->decoded.wait_for(4);
    }
  };
  ASSERT_TRUE(run(copy, 8, nullptr, 8));
  EXPECT_EQ(copy.wrong, "");
  EXPECT_EQ(finished_, kCopiedBatches);
  EXPECT_EQ(copy.most_in_flight, 3U);
}

// The consumer takes batch b only when all that may be decoded by then is: b + slots in all.
TEST_F(CopyLoop, ABatchIsDecodedIntoTheSlotOfOneThatIsConsumed) {
  for (const std::uint32_t slots : {1U, 2U, 5U}) {
    ScriptedCopy copy;
    ScriptedConsumer consumer;
    std::uint32_t most = 0;
    consumer.on_batch = [&](std::uint32_t batch) {
      handoff_->decoded.wait_for(std::min(kCopiedBatches, batch + slots));
      most = std::max(most, handoff_->decoded.value() - batch);
    };
    ASSERT_TRUE(run(copy, 8, &consumer, slots));
    EXPECT_EQ(finished_, kCopiedBatches);
    EXPECT_EQ(most, slots);
    for (std::uint32_t b = 0; b < kCopiedBatches; ++b) {
      const StageTimes& decoded = *times(b)[Stage::decode];
      EXPECT_LE(decoded.wait, decoded.begin);
      EXPECT_TRUE(b >= slots || decoded.wait == decoded.begin) << "its slot was never used";
      EXPECT_TRUE(b == 0 || times(b - 1)[Stage::decode]->end <= decoded.wait);
      EXPECT_TRUE(b < slots || times(b - slots).consumed <= decoded.begin);
    }
  }
}

TEST_F(CopyLoop, AStopEndsDecodingToo) {
  ScriptedCopy copy;
  copy.on_finish = [this](std::uint32_t batch) {
    if (batch == 9) {
      handoff_->request_stop();
    }
  };
  ASSERT_TRUE(run(copy, 8, nullptr, 4));
  EXPECT_EQ(copy.finished, copy.begun);
  EXPECT_LT(copy.begun, kCopiedBatches);
  EXPECT_LT(handoff_->decoded.value(), kCopiedBatches);
}

TEST_F(CopyLoop, AFailureBehindDecodingEndsTheRunWithItsWords) {
  ScriptedCopy copy;
  copy.ahead = 2;
  copy.fail_finish = 17;
  const Result<> result = run(copy, 4, nullptr, 4);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "copy of batch 17: made to fail");
  EXPECT_EQ(copy.finished, copy.begun);
}

}  // namespace
}  // namespace blksweep
