#include <cstring>

#include "base/clock.h"
#include "stage/copy_stage.h"

namespace blksweep {
namespace {

class HostCopy final : public CopyStage {
 public:
  HostCopy(std::uint32_t slots, std::size_t slot_bytes, PageBuffer ring)
      : slots_(slots), slot_bytes_(slot_bytes), ring_(std::move(ring)) {}

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    const std::int64_t begin = now_ns();
    std::byte* const slot = ring_.data() + offset_of(batch);
    std::byte* to = slot;
    for (const BatchPart& part : parts) {
      std::memcpy(to, part.data, part.bytes);
      to += part.bytes;
    }
    times_.all = times_.transfer = {begin, now_ns()};
    slice_ = {times_.transfer, batch, 0, static_cast<std::uint64_t>(to - slot)};
    return {};
  }
  Result<CopyTimes> finish(std::uint32_t /*batch*/) override { return times_; }
  std::optional<BatchArrival> arrival(std::uint32_t /*batch*/) const override {
    return BatchArrival{.at_ns = times_.transfer.end};
  }
  std::span<const TransferSlice> slices(std::uint32_t /*batch*/) const override {
    return {&slice_, 1};
  }

  const std::byte* staged(std::uint32_t batch) const override {
    return ring_.data() + offset_of(batch);
  }

 private:
  std::size_t offset_of(std::uint32_t batch) const { return batch % slots_ * slot_bytes_; }

  std::uint32_t slots_;
  std::size_t slot_bytes_;
  PageBuffer ring_;
  // Of the one batch between begin() and finish().
  CopyTimes times_;
  TransferSlice slice_;
};

}  // namespace

Result<std::unique_ptr<CopyStage>> make_host_copy(std::uint32_t slots, Bytes batch_bytes) {
  const std::size_t slot = align_up(batch_bytes.n == 0 ? 1 : batch_bytes.n, kPageBytes);
  BLKSWEEP_TRY(PageBuffer ring, PageBuffer::allocate({slot * slots}));
  return std::unique_ptr<CopyStage>(std::make_unique<HostCopy>(slots, slot, std::move(ring)));
}

}  // namespace blksweep
