#include "stage/emulated_copy.h"

#include <cassert>

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedCopy final : public CopyStage {
 public:
  EmulatedCopy(const LinkSettings& link, std::stop_token stop)
      : link_(link), times_(std::max(1U, link.lanes) + 1), stop_(std::move(stop)) {}

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    std::uint64_t bytes = 0;
    for (const BatchPart& part : parts) {
      bytes += part.bytes;
    }
    const std::int64_t now = now_ns();
    const TimeSpan transfer = link_.take(bytes, now);
    at(batch) = {{now, transfer.end}, transfer};
    return {};
  }

  Result<CopyTimes> finish(std::uint32_t batch) override {
    BLKSWEEP_CHECK(sleep_until(at(batch).all.end, stop_));
    return at(batch);
  }

  std::uint32_t in_flight() const override { return static_cast<std::uint32_t>(times_.size()); }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }

 private:
  CopyTimes& at(std::uint32_t batch) { return times_[batch % times_.size()]; }

  VirtualLink link_;
  std::vector<CopyTimes> times_;  // of batches in flight
  std::stop_token stop_;
};

}  // namespace

std::unique_ptr<CopyStage> make_emulated_copy(const LinkSettings& link, std::stop_token stop) {
  assert(link.bandwidth.n > 0);
  return std::make_unique<EmulatedCopy>(link, std::move(stop));
}

}  // namespace blksweep
