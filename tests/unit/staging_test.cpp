// The ways in which a batch can be staged without a GPU: memory made once, for each batch, or small
// halves in front of a link.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "loader/stages.h"
#include "stage/emulated_copy.h"
#include "stage/fresh_copy.h"
#include "stage/pageable_copy.h"

namespace blksweep {
namespace {

constexpr Bytes kStagingRate{1'000'000'000};
constexpr LinkSettings kLink{kStagingRate, Nanos{1000}, 1};

class Batch {
 public:
  Batch(std::size_t parts, std::size_t bytes, unsigned char first) : all_(parts * bytes) {
    std::iota(reinterpret_cast<unsigned char*>(all_.data()),
              reinterpret_cast<unsigned char*>(all_.data() + all_.size()), first);
    for (std::size_t p = 0; p < parts; ++p) {
      parts_.push_back({all_.data() + p * bytes, bytes});
    }
  }
  std::span<const BatchPart> parts() const { return parts_; }
  bool equals(const std::byte* there) const { return std::equal(all_.begin(), all_.end(), there); }

 private:
  std::vector<std::byte> all_;
  std::vector<BatchPart> parts_;
};

void expect_ascending(const CopyTimes& t, std::int64_t before) {
  EXPECT_LE(before, t.all.begin);
  EXPECT_LE(t.all.begin, t.transfer.begin);
  EXPECT_LE(t.transfer.begin, t.transfer.end);
}

TEST(FreshCopy, HoldsEachBatchUntilItsSlotIsUsedAgain) {
  const auto copy = make_fresh_copy(2, nullptr);
  std::vector<Batch> batches;
  for (unsigned char b = 0; b < 5; ++b) {
    batches.emplace_back(3, 5000, static_cast<unsigned char>(b * 17));
  }
  for (std::uint32_t b = 0; b < batches.size(); ++b) {
    const std::int64_t before = now_ns();
    ASSERT_TRUE(copy->begin(b, batches[b].parts()));
    const auto times = copy->finish(b);
    ASSERT_TRUE(times);
    expect_ascending(*times, before);
    EXPECT_LE(times->transfer.end, now_ns());
    EXPECT_TRUE(batches[b].equals(copy->staged(b)));
    EXPECT_TRUE(b == 0 || batches[b - 1].equals(copy->staged(b - 1))) << "in the other slot";
  }
}

TEST(FreshCopy, HandsWhatItGatheredToTheLink) {
  const auto copy = make_fresh_copy(1, make_emulated_copy(kLink));
  const Batch batch(4, 100'000, 3);
  const std::int64_t before = now_ns();
  ASSERT_TRUE(copy->begin(0, batch.parts()));
  const std::int64_t gathered = now_ns();
  const auto times = copy->finish(0);
  ASSERT_TRUE(times);
  expect_ascending(*times, before);
  EXPECT_LE(times->all.begin, gathered);
  EXPECT_EQ(times->transfer.end - times->transfer.begin, 401'000) << "one transfer of all bytes";
  EXPECT_GE(now_ns(), times->transfer.end);
  EXPECT_TRUE(batch.equals(copy->staged(0)));
  EXPECT_EQ(copy->releases(), Releases::arrived);
  ASSERT_TRUE(copy->release(0));
  EXPECT_EQ(copy->staged(0), nullptr) << "it is on the accelerator alone";
}

TEST(FreshCopy, TakesABatchOfNothing) {
  const auto copy = make_fresh_copy(1, make_emulated_copy(kLink));
  ASSERT_TRUE(copy->begin(0, {}));
  EXPECT_TRUE(copy->finish(0));
}

TEST(PageableCopy, SendsEachPartInPiecesOfOneHalf) {
  const auto copy = make_pageable_copy(kLink);
  ASSERT_TRUE(copy);
  const Batch batch(2, kBounceBytes + kBounceBytes / 2, 0);
  const std::int64_t before = now_ns();
  ASSERT_TRUE((*copy)->begin(0, batch.parts()));
  const auto times = (*copy)->finish(0);
  ASSERT_TRUE(times);
  expect_ascending(*times, before);
  const std::span<const TransferSlice> slices = (*copy)->slices(0);
  ASSERT_EQ(slices.size(), 4U);
  EXPECT_EQ(slices.front().begin, times->transfer.begin) << "that of the first piece";
  EXPECT_EQ(slices.back().end, times->transfer.end);
  EXPECT_EQ(slices[0].bytes + slices[1].bytes, kBounceBytes + kBounceBytes / 2);
  const auto bytes = static_cast<std::int64_t>(3 * kBounceBytes);
  EXPECT_GE(times->transfer.end - times->transfer.begin, bytes + 4000)
      << "four pieces pay the latency";
  EXPECT_GE(now_ns(), times->transfer.end);
}

TEST(PageableCopy, BlocksUntilAHalfIsFree) {
  const auto copy = make_pageable_copy(kLink);
  ASSERT_TRUE(copy);
  const Batch batch(4, kBounceBytes, 0);
  const std::int64_t before = now_ns();
  ASSERT_TRUE((*copy)->begin(0, batch.parts()));
  // The fourth piece needs the half of the second, which is through then; two are on their way.
  EXPECT_GE(now_ns() - before, static_cast<std::int64_t>(2 * kBounceBytes));
  EXPECT_TRUE((*copy)->finish(0));
}

TEST(PageableCopy, TakesABatchOfNothing) {
  const auto copy = make_pageable_copy(kLink);
  ASSERT_TRUE(copy);
  const Batch empty(1, 0, 0);
  const std::int64_t before = now_ns();
  ASSERT_TRUE((*copy)->begin(0, empty.parts()));
  const auto times = (*copy)->finish(0);
  ASSERT_TRUE(times);
  expect_ascending(*times, before);
}

TEST(Stages, BlockWhereTheCopyThreadItselfWorks) {
  EXPECT_EQ(make_fresh_copy(2, make_emulated_copy(kLink))->in_flight(), 1U);
  const auto pageable = make_pageable_copy(kLink);
  ASSERT_TRUE(pageable);
  EXPECT_EQ((*pageable)->in_flight(), 1U);
}

TEST(Stages, OfACellAreThoseOfItsStaging) {
  LoaderSettings cell;
  cell.copy_tuning.bandwidth = kStagingRate;
  const Batch batch(3, 4096, 9);
  const auto staged_by = [&](CopyKind kind, Staging staging) {
    cell.copy = kind;
    cell.copy_tuning.staging = staging;
    const auto copy =
        make_copy({.settings = cell, .batch_bytes = {12288}, .batch_parts = 3, .arena = {}});
    EXPECT_TRUE(copy && (*copy)->begin(0, batch.parts()) && (*copy)->finish(0));
    const std::byte* there = (*copy)->staged(0);
    return there != nullptr && batch.equals(there);
  };
  EXPECT_TRUE(staged_by(CopyKind::host, Staging::pinned));
  EXPECT_TRUE(staged_by(CopyKind::host, Staging::per_batch));
  EXPECT_TRUE(staged_by(CopyKind::emulated, Staging::per_batch));
  EXPECT_FALSE(staged_by(CopyKind::emulated, Staging::pinned)) << "no byte is moved";
  EXPECT_FALSE(staged_by(CopyKind::emulated, Staging::pageable)) << "only through the halves";
}

}  // namespace
}  // namespace blksweep
