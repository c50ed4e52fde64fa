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

std::unique_ptr<Consumer> make_emulated_consumer(std::uint32_t ahead, std::stop_token stop) {
  return std::make_unique<EmulatedConsumer>(ahead, std::move(stop));
}

}  // namespace blksweep
