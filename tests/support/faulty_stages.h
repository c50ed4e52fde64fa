// A copy stage and a consumer that fail at a given batch, and makers that put them in the place of
// those on a GPU.
//
// Its copies run on threads of their own and read the parts late, as a copy engine does: a window
// that goes or is written to before a finish() is an error under ASan or TSan, and a copy that
// nobody waits for ends the program.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "loader/stages.h"
#include "stage/deadline.h"

namespace blksweep {

struct FaultPlan {
  static constexpr std::uint32_t kNever = ~0U;
  std::uint32_t at_begin = kNever, at_finish = kNever, at_consume = kNever;
  std::uint32_t forever = kNever;                 // the copy that ends at a stop only
  std::string refusal;                            // of making the copy stage; empty: it is made
  bool cold_copy = false, cold_consumer = false;  // their warm_up() fails
  bool loses_gpu = false;                         // with the first fault
  std::function<void(std::uint32_t)> begun;       // after begin() of a batch
};

struct FaultTrace {
  std::atomic<std::uint32_t> begun{0}, finished{0}, faults{0};
  std::atomic<std::uint64_t> bytes{0};  // that late copies have read
};

inline Result<> made_to_fail(FaultTrace& trace, const char* what, std::uint32_t batch) {
  ++trace.faults;
  return fail(fmt::format("{} of batch {}: made to fail", what, batch));
}

class FaultyCopy final : public CopyStage {
 public:
  FaultyCopy(const FaultPlan& plan, FaultTrace& trace, std::stop_token stop)
      : plan_(plan), trace_(trace), stop_(std::move(stop)) {}

  Result<> warm_up() override {
    return plan_.cold_copy ? fail("copy's warm-up: made to fail") : Result<>();
  }
  // A begin() that fails has started half of its copies.
  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    ++trace_.begun;
    const bool fails = batch == plan_.at_begin;
    std::vector<BatchPart> mine(parts.begin(), parts.end());
    mine.resize(fails ? mine.size() / 2 : mine.size());
    begun_[batch % kAhead] = now_ns();
    flights_[batch % kAhead] = std::thread([this, late = std::move(mine)] { read_late(late); });
    if (plan_.begun) {
      plan_.begun(batch);
    }
    return fails ? made_to_fail(trace_, "begin", batch) : Result<>();
  }
  Result<CopyTimes> finish(std::uint32_t batch) override {
    flights_[batch % kAhead].join();
    ++trace_.finished;
    if (batch == plan_.forever) {
      BLKSWEEP_CHECK(sleep_until(std::numeric_limits<std::int64_t>::max(), stop_));
    }
    if (batch == plan_.at_finish) {
      return tl::unexpected(made_to_fail(trace_, "copy", batch).error());
    }
    const std::int64_t begun = begun_[batch % kAhead];
    last_end_ = std::max(now_ns(), last_end_);
    return CopyTimes{.all = {begun, last_end_}, .transfer = {begun, last_end_}};
  }
  std::uint32_t in_flight() const override { return kAhead; }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }

 private:
  static constexpr std::uint32_t kAhead = 2;
  void read_late(const std::vector<BatchPart>& parts) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<std::byte> arrived;
    for (const BatchPart& part : parts) {
      arrived.assign(part.data, part.data + part.bytes);
      trace_.bytes += arrived.size();
    }
  }

  const FaultPlan& plan_;
  FaultTrace& trace_;
  std::stop_token stop_;
  std::array<std::thread, kAhead> flights_;
  std::array<std::int64_t, kAhead> begun_{};
  std::int64_t last_end_ = 0;
};

class FaultyConsumer final : public Consumer {
 public:
  FaultyConsumer(const FaultPlan& plan, FaultTrace& trace) : plan_(plan), trace_(trace) {}
  Result<> warm_up() override {
    return plan_.cold_consumer ? fail("consumer's warm-up: made to fail") : Result<>();
  }
  bool waits_for(const BatchArrival& /*arrival*/) const override { return false; }
  Result<> launch(std::uint32_t /*batch*/, Nanos /*takes*/,
                  const BatchArrival& /*arrival*/) override {
    return {};
  }
  Result<ComputeTimes> finish(std::uint32_t batch) override {
    if (batch == plan_.at_consume) {
      return tl::unexpected(made_to_fail(trace_, "kernel", batch).error());
    }
    const std::int64_t now = now_ns();
    return ComputeTimes{{now, now + 1}, {now, now + 1}};
  }

 private:
  const FaultPlan& plan_;
  FaultTrace& trace_;
};

inline StageMakers faulty_makers(const FaultPlan& plan, FaultTrace& trace) {
  StageMakers m;
  m.check = [](const LoaderSettings&) { return Result<>(); };
  m.gpu_lost = [&] { return plan.loses_gpu && trace.faults > 0; };
  m.copy = [&](const StageRequest& q) -> Result<std::unique_ptr<CopyStage>> {
    if (q.settings.copy != CopyKind::cuda) {
      return make_copy(q);
    }
    if (!plan.refusal.empty()) {
      ++trace.faults;
      return fail(plan.refusal);
    }
    return std::make_unique<FaultyCopy>(plan, trace, q.stop);
  };
  m.consumer = [&](const StageRequest& q) -> Result<std::unique_ptr<Consumer>> {
    if (q.settings.consumer != ConsumerKind::cuda) {
      return make_consumer(q);
    }
    return std::make_unique<FaultyConsumer>(plan, trace);
  };
  return m;
}

}  // namespace blksweep
