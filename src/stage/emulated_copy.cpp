#include "stage/emulated_copy.h"

#include <cassert>

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class EmulatedCopy final : public CopyStage {
 public:
  EmulatedCopy(const LinkSettings& link, std::stop_token stop)
      : link_(link),
        lanes_(std::max(1U, link.lanes)),
        flights_(lanes_ + 1),
        stop_(std::move(stop)) {}

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    std::uint64_t bytes = 0;
    for (const BatchPart& part : parts) {
      bytes += part.bytes;
    }
    const std::int64_t now = now_ns();
    const TimeSpan transfer = link_.take(bytes, now);
    flight(batch) = {{{now, transfer.end}, transfer}, {transfer, batch, batch % lanes_, bytes}};
    return {};
  }

  Result<CopyTimes> finish(std::uint32_t batch) override {
    BLKSWEEP_CHECK(sleep_until(flight(batch).times.all.end, stop_));
    return flight(batch).times;
  }

  std::uint32_t in_flight() const override { return lanes_ + 1; }
  std::optional<BatchArrival> arrival(std::uint32_t batch) const override {
    return BatchArrival{.at_ns = flights_[batch % flights_.size()].times.transfer.end};
  }
  std::span<const TransferSlice> slices(std::uint32_t batch) const override {
    return {&flights_[batch % flights_.size()].slice, 1};
  }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }

 private:
  struct Flight {
    CopyTimes times;
    TransferSlice slice;
  };
  Flight& flight(std::uint32_t batch) { return flights_[batch % flights_.size()]; }

  VirtualLink link_;
  std::uint32_t lanes_;
  std::vector<Flight> flights_;  // between begin() and finish()
  std::stop_token stop_;
};

}  // namespace

std::unique_ptr<CopyStage> make_emulated_copy(const LinkSettings& link, std::stop_token stop) {
  assert(link.bandwidth.n > 0);
  return std::make_unique<EmulatedCopy>(link, std::move(stop));
}

}  // namespace blksweep
