#include "stage/consumer.h"

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedConsumer final : public Consumer {
 public:
  explicit EmulatedConsumer(std::stop_token stop) : stop_(std::move(stop)) {}

  Result<ComputeTimes> consume(std::uint32_t /*batch*/, Nanos takes) override {
    ComputeTimes t{now_ns(), 0};
    BLKSWEEP_CHECK(sleep_until(later(t.begin_ns, takes.count()), stop_));
    t.end_ns = now_ns();
    return t;
  }

 private:
  std::stop_token stop_;
};

}  // namespace

std::unique_ptr<Consumer> make_emulated_consumer(std::stop_token stop) {
  return std::make_unique<EmulatedConsumer>(std::move(stop));
}

}  // namespace blksweep
