#include "stage/pageable_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "stage/deadline.h"

namespace blksweep {
namespace {

class PageableCopy final : public CopyStage {
 public:
  PageableCopy(const LinkSettings& link, PageBuffer halves, std::stop_token stop)
      : link_(link), halves_(std::move(halves)), stop_(std::move(stop)) {}

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    const std::int64_t now = now_ns();
    times_ = {{now, now}, {now, now}};
    batch_ = batch;
    slices_.clear();
    for (const BatchPart& part : parts) {
      for (std::size_t at = 0; at < part.bytes; at += kBounceBytes) {
        BLKSWEEP_CHECK(send({part.data + at, std::min(kBounceBytes, part.bytes - at)}));
      }
    }
    return {};
  }

  Result<CopyTimes> finish(std::uint32_t /*batch*/) override {
    BLKSWEEP_CHECK(sleep_until(times_.all.end, stop_));
    return times_;
  }
  // begin() blocks: a batch that has arrived would wait for the next one to be staged.
  std::uint32_t in_flight() const override { return 1; }
  std::optional<BatchArrival> arrival(std::uint32_t /*batch*/) const override {
    return BatchArrival{.at_ns = times_.transfer.end};
  }
  std::span<const TransferSlice> slices(std::uint32_t /*batch*/) const override { return slices_; }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }

 private:
  Result<> send(const BatchPart& piece) {
    const std::size_t half = slices_.size() % free_at_.size();
    BLKSWEEP_CHECK(sleep_until(free_at_[half], stop_));
    std::memcpy(halves_.data() + half * kBounceBytes, piece.data, piece.bytes);
    const TimeSpan moved = link_.take(piece.bytes, now_ns());
    free_at_[half] = times_.all.end = times_.transfer.end = moved.end;
    times_.transfer.begin = slices_.empty() ? moved.begin : times_.transfer.begin;
    slices_.push_back({moved, batch_, 0, piece.bytes});
    return {};
  }

  VirtualLink link_;
  PageBuffer halves_;
  std::array<std::int64_t, 2> free_at_{};  // when the link is through with each half
  // Of the one batch between begin() and finish().
  std::uint32_t batch_ = 0;
  CopyTimes times_;
  std::vector<TransferSlice> slices_;
  std::stop_token stop_;
};

}  // namespace

Result<std::unique_ptr<CopyStage>> make_pageable_copy(const LinkSettings& link,
                                                      std::stop_token stop) {
  BLKSWEEP_TRY(PageBuffer halves, PageBuffer::allocate({2 * kBounceBytes}));
  return std::unique_ptr<CopyStage>(
      std::make_unique<PageableCopy>(link, std::move(halves), std::move(stop)));
}

}  // namespace blksweep
