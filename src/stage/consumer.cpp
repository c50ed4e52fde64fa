#include "stage/consumer.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedConsumer final : public Consumer {
 public:
  EmulatedConsumer(std::uint32_t ahead, std::stop_token stop)
      : queue_(std::max(1U, ahead)), stop_(std::move(stop)) {}

  // Of an event that only a GPU knows nothing can be said.
  bool waits_for(const BatchArrival& arrival) const override { return arrival.event == nullptr; }

  Result<> launch(std::uint32_t batch, Nanos takes, const BatchArrival& arrival) override {
    const std::int64_t begin = std::max({now_ns(), arrival.at_ns, free_at_});
    free_at_ = later(begin, takes.count());
    queue_[batch % queue_.size()] = {begin, free_at_};
    return {};
  }

  Result<ComputeTimes> finish(std::uint32_t batch) override {
    const TimeSpan& busy = queue_[batch % queue_.size()];
    BLKSWEEP_CHECK(sleep_until(busy.end, stop_));
    return ComputeTimes{busy, busy};
  }

 private:
  std::vector<TimeSpan> queue_;  // launched, by batch
  std::stop_token stop_;
  std::int64_t free_at_ = 0;  // when all that was launched is through
};

}  // namespace

Result<> Consumer::launch(std::uint32_t batch, Nanos takes, const BatchArrival& arrival) {
  const std::lock_guard lock(mutex_);
  launched_[batch] = {takes, arrival.at_ns};
  return {};
}

Result<ComputeTimes> Consumer::finish(std::uint32_t batch) {
  Launched mine{};
  {
    const std::lock_guard lock(mutex_);
    mine = launched_[batch];
    launched_.erase(batch);
  }
  BLKSWEEP_TRY(const TimeSpan busy, consume(batch, mine.takes, mine.arrived_ns));
  return ComputeTimes{busy, busy};
}

Result<TimeSpan> Consumer::consume(std::uint32_t /*batch*/, Nanos /*takes*/,
                                   std::int64_t /*arrived_ns*/) {
  return fail("this consumer launches");
}

std::unique_ptr<Consumer> make_emulated_consumer(std::uint32_t ahead, std::stop_token stop) {
  return std::make_unique<EmulatedConsumer>(ahead, std::move(stop));
}

}  // namespace blksweep
