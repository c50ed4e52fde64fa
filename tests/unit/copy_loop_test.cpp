// What the copy thread owes to any copy stage, whatever it is made of: order, slots, and that
// nothing is in flight when an epoch ends.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "loader/delivery.h"
#include "support/scripted_copy.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kCopiedBatches = 40;

class CopyLoop : public ::testing::Test {
 protected:
  // One sample of one byte per batch; the window is a dummy that nobody looks into.
  CopyLoop() {
    for (std::uint32_t b = 0; b <= kCopiedBatches; ++b) {
      schedule_.batch_begin.push_back(b);
    }
    failed_.assign(kCopiedBatches, 1);  // no parts: what is copied does not matter here
    for (std::uint32_t b = 0; b < kCopiedBatches; ++b) {
      schedule_.emission.push_back(b);
    }
  }

  // With `decode_slots` the (empty) batches are decoded first.
  Result<> run(ScriptedCopy& copy, std::uint32_t slots, Consumer* consumer = nullptr,
               std::uint32_t decode_slots = 0) {
    handoff_ = std::make_unique<Handoff>();
    handoff_->times.resize(kCopiedBatches);
    std::unique_ptr<DecodeStage> decode;
    if (decode_slots > 0) {
      decode =
          std::move(DecodeStage::make({.slots = decode_slots, .batches = kCopiedBatches}).value());
    }
    Delivery delivery({.catalog = catalog_,
                       .plan = plan_,
                       .schedule = schedule_,
                       .arena = {},
                       .failed = failed_,
                       .handoff = *handoff_,
                       .decode = decode.get(),
                       .copy = &copy,
                       .staging_slots = slots,
                       .consumer = consumer});
    copy.consumed = &handoff_->consumed;
    copy.slots = slots;
    delivery.start();
    handoff_->ready.publish(kCopiedBatches);
    Result<> result = delivery.finish();
    finished_ = handoff_->consumed.value();
    work_ = delivery.device_work();
    return result;
  }

  Catalog catalog_;
  Plan plan_;
  Schedule schedule_;
  std::vector<std::uint8_t> failed_;
  // Of the last run, as the delivery left it.
  const BatchTimes& times(std::size_t batch) const { return handoff_->times[batch]; }

  std::unique_ptr<Handoff> handoff_;
  std::uint32_t finished_ = 0;
  DeviceWork work_;
};

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

// Does what a test says with each batch, and fails where it is told.
class ScriptedConsumer final : public Consumer {
 public:
  bool waits_for(const BatchArrival& /*arrival*/) const override { return waits; }
  Result<> launch(std::uint32_t batch, Nanos /*takes*/, const BatchArrival& arrival) override {
    EXPECT_EQ(batch, launched.size()) << "in order";
    launched.push_back(arrival);
    if (on_launch) {
      on_launch(batch);
    }
    return batch == fail_launch ? fail(fmt::format("launch of batch {}: made to fail", batch))
                                : Result<>();
  }
  Result<ComputeTimes> finish(std::uint32_t batch) override {
    const std::int64_t begin = now_ns();
    if (on_batch) {
      on_batch(batch);
    }
    if (batch == fail_batch) {
      return fail(fmt::format("kernel of batch {}: made to fail", batch));
    }
    const std::int64_t end = now_ns();
    return ComputeTimes{{begin, end}, {begin + 1, end + 1}};
  }
  bool waits = false;  // for what has not arrived
  std::uint32_t fail_batch = ScriptedCopy::kNever, fail_launch = ScriptedCopy::kNever;
  std::function<void(std::uint32_t)> on_batch, on_launch;
  std::vector<BatchArrival> launched;  // by the thread that launches
};

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

// A stage whose batch is there before the stage has given back what it took for it.
TEST_F(CopyLoop, ABatchHasArrivedWhenTheStageSaysSoAndNotBeforeTheTransfer) {
  ScriptedCopy copy;
  copy.times = {{10, 45}, {20, 30}};
  ASSERT_TRUE(run(copy, 2));
  EXPECT_EQ(times(3).arrived(), 45);
  EXPECT_EQ(times(3)[Stage::copy]->begin, 10);
  EXPECT_EQ(times(3)[Stage::transfer]->begin, 20);
  EXPECT_EQ(times(3)[Stage::transfer]->end, 30);
}

// The accelerator is fed while the copy is under way: nobody has to wake up when it ends.
TEST_F(CopyLoop, ABatchIsLaunchedBehindItsArrivalWhileItsCopyIsUnderWay) {
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

TEST_F(CopyLoop, WhatCannotBeWaitedForIsLaunchedWhenItHasArrived) {
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

TEST_F(CopyLoop, NoMoreIsLaunchedThanThereAreSlots) {
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

TEST_F(CopyLoop, ALaunchThatFailsEndsTheRunAndDrainsTheCopies) {
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
TEST_F(CopyLoop, AnArrivalIsPublishedBeforeMemoryIsGivenBack) {
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

TEST_F(CopyLoop, MemoryThatABatchLiesInIsGivenBackWhenItsSlotIsUsedAgain) {
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

TEST_F(CopyLoop, AReleaseThatFailsEndsTheRun) {
  ScriptedCopy copy;
  copy.gives_back = Releases::arrived;
  copy.fail_release = 7;
  const Result<> result = run(copy, 2);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "copy of batch 7: made to fail");
  EXPECT_LE(finished_, 7U) << "without its memory given back it is not through";
}

TEST_F(CopyLoop, KeepsWhatTheAcceleratorDidByItsOwnClock) {
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
