#include "stage/consumer.h"

#include <algorithm>

#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedConsumer final : public Consumer {
 public:
  explicit EmulatedConsumer(std::stop_token stop) : stop_(std::move(stop)) {}

  Result<TimeSpan> consume(std::uint32_t /*batch*/, Nanos takes, std::int64_t arrived_ns) override {
    const std::int64_t begin = std::max(arrived_ns, free_at_);
    free_at_ = later(begin, takes.count());
    BLKSWEEP_CHECK(sleep_until(free_at_, stop_));
    return TimeSpan{begin, free_at_};
  }

 private:
  std::stop_token stop_;
  std::int64_t free_at_ = 0;  // when the batch before is through
};

}  // namespace

std::unique_ptr<Consumer> make_emulated_consumer(std::stop_token stop) {
  return std::make_unique<EmulatedConsumer>(std::move(stop));
}

}  // namespace blksweep
