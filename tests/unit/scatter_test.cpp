#include "loader/scatter.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace blksweep {
namespace {

// One read: piece, gap, two pieces that are neighbours in the arena too.
struct OneRead {
  Plan plan;
  Schedule schedule;
  PageBuffer arena;
  OneRead() {
    plan.reads = {{0, 20480, kFromDevice}};
    plan.pieces = {{0, 0, 0, 4096}, {1, 0, 12288, 4096}, {2, 0, 16384, 4096}};
    plan.first_piece = {0, 3};
    schedule.slot = {16, 0, 8};  // in units of 512
    arena = *PageBuffer::allocate({65536});
  }
  Result<Scatter> scatter(unsigned tags) {
    return Scatter::make(plan, schedule, arena.span(), {tags, staging_area(plan, schedule, tags)});
  }
};

TEST(Scatter, JoinsNeighboursAndSinksGaps) {
  OneRead one;
  auto scatter = one.scatter(2);
  ASSERT_TRUE(scatter);
  const auto iov = scatter->build(1, 0, 3);
  ASSERT_EQ(iov.size(), 3U);
  EXPECT_EQ(iov[0].iov_base, one.arena.data() + 8192);
  EXPECT_EQ(iov[0].iov_len, 4096U);
  EXPECT_EQ(iov[1].iov_len, 8192U);
  const auto* sink = static_cast<const std::byte*>(iov[1].iov_base);
  EXPECT_TRUE(sink < one.arena.data() || sink >= one.arena.data() + one.arena.size());
  EXPECT_EQ(iov[2].iov_base, one.arena.data());
  EXPECT_EQ(iov[2].iov_len, 8192U);
}

TEST(Scatter, ASinglePieceBeginsAtItsOwnFirstByte) {
  OneRead one;
  auto scatter = one.scatter(1);
  const auto iov = scatter->build(0, 1, 2);
  ASSERT_EQ(iov.size(), 1U);
  EXPECT_EQ(iov[0].iov_base, one.arena.data());
  EXPECT_EQ(iov[0].iov_len, 4096U);
}

// Small pieces come in one run, whatever their places, and lie in them afterwards.
TEST(Scatter, SmallPiecesAreStagedAndCopiedToTheirPlaces) {
  OneRead one;
  ASSERT_EQ(staging_area(one.plan, one.schedule, 2).n, 2U * 20480);
  auto scatter = one.scatter(2);
  ASSERT_TRUE(scatter);
  const auto iov = scatter->aim(1, 0, 3);
  ASSERT_EQ(iov.size(), 1U);
  ASSERT_EQ(iov[0].iov_len, 20480U);
  auto* const came = static_cast<std::uint8_t*>(iov[0].iov_base);
  for (std::size_t i = 0; i < iov[0].iov_len; ++i) {
    came[i] = static_cast<std::uint8_t>(i / 4096 + 1);
  }
  scatter->arrived(1, 0, 3);
  for (const Piece& p : one.plan.pieces) {
    for (std::uint32_t i = 0; i < p.length; ++i) {
      ASSERT_EQ(std::to_integer<std::uint32_t>(scatter->place(p)[i]), p.read_offset / 4096 + 1);
    }
  }
  EXPECT_EQ(scatter->staged_reads(), 1U);
}

// A piece that is tried again alone, and pieces that are large, need no copy.
TEST(Scatter, WhatIsOneRunOrLargeIsReadInPlace) {
  OneRead one;
  auto scatter = one.scatter(1);
  ASSERT_TRUE(scatter);
  EXPECT_EQ(scatter->aim(0, 1, 2)[0].iov_base, one.arena.data());
  EXPECT_EQ(scatter->aim(0, 1, 3).size(), 1U);  // neighbours in the arena
  scatter->arrived(0, 1, 3);
  EXPECT_EQ(scatter->staged_reads(), 0U);
  one.plan.pieces = {{0, 0, 0, 12288}, {1, 0, 12288, 12288}};
  one.plan.first_piece = {0, 2};
  EXPECT_EQ(staging_area(one.plan, one.schedule, 1).n, 0U);
}

// As of a read that the end of a ring cuts, or of neighbours: memory for others' copies is none.
TEST(Scatter, WhatNeedsTwoIovecsIsReadToBoth) {
  OneRead one;
  one.plan.pieces = {{0, 0, 0, 4096}, {1, 0, 4096, 4096}, {2, 0, 8192, 4096}};
  one.plan.reads = {{0, 12288, kFromDevice}};
  EXPECT_EQ(staging_area(one.plan, one.schedule, 4).n, 0U);
  auto scatter = one.scatter(4);
  ASSERT_TRUE(scatter);
  const auto iov = scatter->aim(3, 0, 3);
  ASSERT_EQ(iov.size(), 2U);
  EXPECT_EQ(iov[0].iov_base, one.arena.data() + 8192);
  EXPECT_EQ(iov[1].iov_base, one.arena.data());
  one.schedule.slot = {16, 0, 32};  // three places
  EXPECT_EQ(staging_area(one.plan, one.schedule, 4).n, 4U * 12288);
}

// Room is for the largest read that is copied, wherever among the plan's pieces its own begin.
TEST(Scatter, RoomIsForReadsBehindOthersToo) {
  OneRead one;
  one.plan.reads.push_back({20480, 36864, kFromDevice});
  one.plan.first_piece = {0, 3, 6};
  one.schedule.slot = {16, 0, 8, 40, 24, 32};
  const auto append = [&](Piece p) { one.plan.pieces.push_back(p); };
  append({3, 0, 0, 4096});
  append({4, 0, 12288, 4096});
  append({5, 0, 20480, 4096});
  EXPECT_EQ(staging_area(one.plan, one.schedule, 2).n, 2U * 24576);
  one.plan.pieces.back().read_offset = 32768;  // 12 KiB a piece: not copied
  EXPECT_EQ(staging_area(one.plan, one.schedule, 2).n, 2U * 20480);
}

// What is left after any number of bytes begins right behind them and has the rest of the length.
TEST(Scatter, AdvanceDropsExactlyTheBytesThatCame) {
  OneRead one;
  auto scatter = one.scatter(1);
  const auto whole = scatter->build(0, 0, 3);
  std::vector<const std::byte*> address;
  for (const iovec& v : whole) {
    for (std::size_t i = 0; i < v.iov_len; ++i) {
      address.push_back(static_cast<const std::byte*>(v.iov_base) + i);
    }
  }
  for (std::uint32_t came = 0; came <= address.size(); came += 256) {
    const auto rest = Scatter::advance(scatter->build(0, 0, 3), came);
    std::size_t at = came;
    for (const iovec& v : rest) {
      ASSERT_GT(v.iov_len, 0U);
      ASSERT_EQ(v.iov_base, address[at]);
      at += v.iov_len;
    }
    EXPECT_EQ(at, address.size());
  }
}

}  // namespace
}  // namespace blksweep
