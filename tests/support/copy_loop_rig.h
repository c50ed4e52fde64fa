// CopyLoopRig: the delivery of batches without samples through a scripted copy stage and consumer.
//
// Threads: one owner; scripts run on the threads of the delivery.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "loader/delivery.h"
#include "support/scripted_copy.h"

namespace blksweep {

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

inline constexpr std::uint32_t kCopiedBatches = 40;

class CopyLoopRig : public ::testing::Test {
 protected:
  // One sample of one byte per batch; the window is a dummy that nobody looks into.
  CopyLoopRig() {
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

}  // namespace blksweep
