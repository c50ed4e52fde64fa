#include "stage/consumer.h"

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedConsumer final : public Consumer {
 public:
  Result<ComputeTimes> consume(std::uint32_t /*batch*/, Nanos takes) override {
    ComputeTimes t{now_ns(), 0};
    sleep_until(t.begin_ns + takes.count());
    t.end_ns = now_ns();
    return t;
  }
};

}  // namespace

std::unique_ptr<Consumer> make_emulated_consumer() { return std::make_unique<EmulatedConsumer>(); }

}  // namespace blksweep
