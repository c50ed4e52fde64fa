#include "stage/pageable_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class PageableCopy final : public CopyStage {
 public:
  PageableCopy(const LinkSettings& link, PageBuffer halves)
      : link_(link), halves_(std::move(halves)) {}

  Result<> begin(std::uint32_t /*batch*/, std::span<const BatchPart> parts) override {
    const std::int64_t now = now_ns();
    times_ = {now, now, now};
    pieces_ = 0;
    for (const BatchPart& part : parts) {
      for (std::size_t at = 0; at < part.bytes; at += kBounceBytes) {
        send({part.data + at, std::min(kBounceBytes, part.bytes - at)});
      }
    }
    return {};
  }

  Result<CopyTimes> finish(std::uint32_t /*batch*/) override {
    sleep_until(times_.end_ns);
    return times_;
  }
  // begin() blocks: a batch that has arrived would wait for the next one to be staged.
  std::uint32_t in_flight() const override { return 1; }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }

 private:
  void send(const BatchPart& piece) {
    const std::size_t half = pieces_ % free_at_.size();
    sleep_until(free_at_[half]);
    std::memcpy(halves_.data() + half * kBounceBytes, piece.data, piece.bytes);
    const LinkTransfer moved = link_.take(piece.bytes, now_ns());
    free_at_[half] = times_.end_ns = moved.end_ns;
    times_.begin_ns = pieces_++ == 0 ? moved.begin_ns : times_.begin_ns;
  }

  VirtualLink link_;
  PageBuffer halves_;
  std::array<std::int64_t, 2> free_at_{};  // when the link is through with each half
  std::size_t pieces_ = 0;                 // of the batch
  CopyTimes times_;                        // of the one batch between begin() and finish()
};

}  // namespace

Result<std::unique_ptr<CopyStage>> make_pageable_copy(const LinkSettings& link) {
  BLKSWEEP_TRY(PageBuffer halves, PageBuffer::allocate({2 * kBounceBytes}));
  return std::unique_ptr<CopyStage>(std::make_unique<PageableCopy>(link, std::move(halves)));
}

}  // namespace blksweep
