// What the copy thread owes to any copy stage, whatever it is made of: order, slots, and that
// nothing is in flight when an epoch ends.
#include <gtest/gtest.h>

#include "lab/delivery.h"
#include "support/scripted_copy.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kBatches = 40;

class CopyLoop : public ::testing::Test {
 protected:
  // One sample of one byte per batch; the window is a dummy that nobody looks into.
  CopyLoop() {
    for (std::uint32_t b = 0; b <= kBatches; ++b) {
      schedule_.batch_begin.push_back(b);
    }
    failed_.assign(kBatches, 1);  // no parts: what is copied does not matter here
    for (std::uint32_t b = 0; b < kBatches; ++b) {
      schedule_.emission.push_back(b);
    }
  }

  Result<> run(ScriptedCopy& copy, std::uint32_t slots, Consumer* consumer = nullptr) {
    handoff_ = std::make_unique<Handoff>();
    Delivery delivery({.catalog = catalog_,
                       .plan = plan_,
                       .schedule = schedule_,
                       .arena = {},
                       .failed = failed_,
                       .handoff = *handoff_,
                       .copy = &copy,
                       .staging_slots = slots,
                       .consumer = consumer});
    copy.consumed = &handoff_->consumed;
    copy.slots = slots;
    delivery.start();
    handoff_->ready.publish(kBatches);
    Result<> result = delivery.finish();
    finished_ = handoff_->consumed.value();
    return result;
  }

  Catalog catalog_;
  Plan plan_;
  Schedule schedule_;
  std::vector<std::uint8_t> failed_;
  std::unique_ptr<Handoff> handoff_;
  std::uint32_t finished_ = 0;
};

TEST_F(CopyLoop, BeginsAheadAsFarAsTheStageAndTheSlotsAllow) {
  for (const std::uint32_t ahead : {1U, 2U, 5U}) {
    for (const std::uint32_t slots : {1U, 2U, 8U}) {
      ScriptedCopy copy;
      copy.ahead = ahead;
      ASSERT_TRUE(run(copy, slots));
      EXPECT_EQ(finished_, kBatches);
      EXPECT_EQ(copy.begun, kBatches);
      EXPECT_EQ(copy.finished, kBatches);
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
  EXPECT_LT(copy.begun, kBatches);
}

class FailingConsumer final : public Consumer {
 public:
  Result<ComputeTimes> consume(std::uint32_t batch, Nanos /*takes*/) override {
    if (batch == 5) {
      return fail("kernel of batch 5: made to fail");
    }
    return ComputeTimes{1, 2};
  }
};

TEST_F(CopyLoop, AConsumersFailureEndsTheRunAndDrainsTheCopies) {
  ScriptedCopy copy;
  copy.ahead = 2;
  FailingConsumer consumer;
  const Result<> result = run(copy, 2, &consumer);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "kernel of batch 5: made to fail");
  EXPECT_EQ(finished_, 5U);
  EXPECT_EQ(copy.finished, copy.begun);
}

}  // namespace
}  // namespace blksweep
