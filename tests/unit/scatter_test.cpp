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
};

TEST(Scatter, JoinsNeighboursAndSinksGaps) {
  OneRead one;
  auto scatter = Scatter::make(one.plan, one.schedule, one.arena.span(), 2);
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
  auto scatter = Scatter::make(one.plan, one.schedule, one.arena.span(), 1);
  const auto iov = scatter->build(0, 1, 2);
  ASSERT_EQ(iov.size(), 1U);
  EXPECT_EQ(iov[0].iov_base, one.arena.data());
  EXPECT_EQ(iov[0].iov_len, 4096U);
}

// What is left after any number of bytes begins right behind them and has the rest of the length.
TEST(Scatter, AdvanceDropsExactlyTheBytesThatCame) {
  OneRead one;
  auto scatter = Scatter::make(one.plan, one.schedule, one.arena.span(), 1);
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
