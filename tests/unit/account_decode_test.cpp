// The account of epochs that decode, on a clock without threads. Every figure is worked out by hand
// from the times of the stages; b counts batches from 0.
#include <gtest/gtest.h>

#include "stats/account.h"
#include "support/pipeline_clock.h"

namespace blksweep {
namespace {

using support::PipelineClock;

using Named = std::vector<std::pair<Stall, std::int64_t>>;

// The stalls of a lane that are not zero.
Named stalls(const Account& a, Stage lane) {
  Named out;
  for (std::size_t s = 0; s < kStalls; ++s) {
    if (const std::int64_t ns = a.lane(lane)->stalls[s]; ns != 0) {
      out.emplace_back(static_cast<Stall>(s), ns);
    }
  }
  return out;
}

std::int64_t phase(const Account& a, Phase p) { return a.phases[static_cast<std::size_t>(p)]; }

// Decoding of b: [2 + 10b, 12 + 10b), then a copy of 1 and a computation of 3, and nobody waits for
// a slot.
TEST(AccountOfDecoding, BlamesDecodingThatTakesLongest) {
  const Account a =
      PipelineClock(
          {.read = 2, .copy = 1, .compute = 3, .batches = 50, .prefetch = 100, .decode = 10})
          .account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 2 + 500 + 1 + 3);
  EXPECT_EQ(a.longest, Stage::decode);
  EXPECT_EQ(a.ideal, 500);
  EXPECT_EQ(a.covered, a.wall);
  EXPECT_EQ(a.overlap, 100 + 500 + 50 + 150 - 506);
  EXPECT_EQ(a.first_batch, 13);
  // Between two computations 7 ns pass, in 6 of which the next batch is being decoded.
  EXPECT_EQ(stalls(a, Stage::compute),
            (Named{{Stall::storage, 2}, {Stall::decode, 10 + 49 * 6}, {Stall::copy, 50}}));
  EXPECT_EQ(stalls(a, Stage::copy),
            (Named{{Stall::storage, 2}, {Stall::decode, 10 + 49 * 9}, {Stall::done, 3}}));
  EXPECT_EQ(stalls(a, Stage::decode), (Named{{Stall::storage, 2}, {Stall::done, 4}}));
  // b is there at 2b + 2 and waits 8b until it is decoded: 8 * (0 + ... + 49).
  EXPECT_EQ(phase(a, Phase::window), 8 * 1225);
  EXPECT_EQ(phase(a, Phase::decode), 500);
  EXPECT_EQ(phase(a, Phase::decoded), 0);
  EXPECT_EQ(phase(a, Phase::staging), 0);
}

// One slot and no copy: a batch is decoded when the one before is computed. Decoding of b begins at
// 1 + 11b, 10 after that of the batch before has ended.
TEST(AccountOfDecoding, WaitsForASlotOfItsRingWhileTheConsumerIsSlow) {
  const Account a = PipelineClock({.read = 1,
                                   .copy = 0,
                                   .compute = 10,
                                   .batches = 20,
                                   .prefetch = 100,
                                   .decode = 1,
                                   .decode_slots = 1})
                        .account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 1 + 20 * 11);
  EXPECT_EQ(stalls(a, Stage::decode),
            (Named{{Stall::storage, 1}, {Stall::staging, 19 * 10}, {Stall::done, 10}}));
  EXPECT_EQ(stalls(a, Stage::compute), (Named{{Stall::storage, 1}, {Stall::decode, 20}}));
  EXPECT_EQ(phase(a, Phase::staging), 19 * 10);
  // In the window until decoding has nothing but the slot to wait for: b + 1 to 11b - 9.
  EXPECT_EQ(phase(a, Phase::window), 10 * 190 - 10 * 19);
  EXPECT_EQ(phase(a, Phase::decoded), 0);
}

// Three slots for decoding, two for copies. Computation of b: [3 + 10b, 13 + 10b). Then b + 2 is
// copied and b + 3 decoded, 1 each, and both stand still for the other 9.
TEST(AccountOfDecoding, BothRingsFillBehindASlowConsumer) {
  const Account a = PipelineClock({.read = 1,
                                   .copy = 1,
                                   .compute = 10,
                                   .batches = 20,
                                   .prefetch = 100,
                                   .slots = 2,
                                   .decode = 1,
                                   .decode_slots = 3})
                        .account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 3 + 200);
  EXPECT_EQ(stalls(a, Stage::compute),
            (Named{{Stall::storage, 1}, {Stall::decode, 1}, {Stall::copy, 1}}));
  EXPECT_EQ(
      stalls(a, Stage::copy),
      (Named{
          {Stall::storage, 1}, {Stall::decode, 1}, {Stall::staging, 18 * 9}, {Stall::done, 19}}));
  EXPECT_EQ(stalls(a, Stage::decode),
            (Named{{Stall::storage, 1}, {Stall::staging, 17 * 9}, {Stall::done, 29}}));
  EXPECT_EQ(phase(a, Phase::staging), 18 * 9 + 17 * 9);
}

// Copy of b: [5 + 10b, 15 + 10b), given back 1 later, when b + 3 gets its slot of the decode ring.
TEST(AccountOfDecoding, WaitsForItsRingBehindSlowCopies) {
  const Account a = PipelineClock({.read = 2,
                                   .copy = 10,
                                   .compute = 1,
                                   .batches = 50,
                                   .prefetch = 100,
                                   .slots = 2,
                                   .decode = 3,
                                   .decode_slots = 3})
                        .account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 2 + 3 + 500 + 1);
  EXPECT_EQ(a.longest, Stage::copy);
  // Three batches are decoded by 11; the fourth waits until 16, each further one for 7 of 10.
  EXPECT_EQ(stalls(a, Stage::decode),
            (Named{{Stall::storage, 2}, {Stall::staging, 5 + 46 * 7}, {Stall::done, 27}}));
  EXPECT_EQ(stalls(a, Stage::copy),
            (Named{{Stall::storage, 2}, {Stall::decode, 3}, {Stall::done, 1}}));
  EXPECT_EQ(stalls(a, Stage::compute),
            (Named{{Stall::storage, 2}, {Stall::decode, 3}, {Stall::copy, 10 + 49 * 9}}));
  // Decoded and not yet copied: 0, 7 and 14 of the first three, 16 of each further one.
  EXPECT_EQ(phase(a, Phase::decoded), 7 + 14 + 47 * 16);
}

TEST(AccountOfDecoding, BlamesAStorageThatTakesLongest) {
  const Account a =
      PipelineClock({.read = 10, .copy = 1, .compute = 3, .batches = 50, .decode = 2}).account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 500 + 2 + 1 + 3);
  EXPECT_EQ(stalls(a, Stage::compute),
            (Named{{Stall::storage, 10 + 49 * 4}, {Stall::decode, 100}, {Stall::copy, 50}}));
  EXPECT_EQ(stalls(a, Stage::copy),
            (Named{{Stall::storage, 10 + 49 * 7}, {Stall::decode, 100}, {Stall::done, 3}}));
  EXPECT_EQ(stalls(a, Stage::decode), (Named{{Stall::storage, 10 + 49 * 8}, {Stall::done, 4}}));
  EXPECT_EQ(stalls(a, Stage::read), (Named{{Stall::done, 6}}));
}

TEST(AccountOfDecoding, WithoutPrefetchTheStagesFollowEachOther) {
  const Account a = PipelineClock({.read = 8,
                                   .copy = 3,
                                   .compute = 10,
                                   .batches = 100,
                                   .prefetch = 0,
                                   .slots = 1,
                                   .decode = 4,
                                   .decode_slots = 1})
                        .account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 100 * 25);
  EXPECT_EQ(a.overlap, 0);
  EXPECT_EQ(stalls(a, Stage::compute),
            (Named{{Stall::storage, 800}, {Stall::decode, 400}, {Stall::copy, 300}}));
  EXPECT_EQ(stalls(a, Stage::read), (Named{{Stall::decode, 99 * 4},
                                           {Stall::copy, 99 * 3},
                                           {Stall::consumer, 99 * 10},
                                           {Stall::done, 17}}));
  EXPECT_EQ(stalls(a, Stage::decode),
            (Named{{Stall::storage, 800}, {Stall::window, 99 * 13}, {Stall::done, 13}}));
}

// Alone, what is decoded is through: the decode lane is the last one.
TEST(AccountOfDecoding, AloneIsTheLastLane) {
  const Account a =
      PipelineClock({.read = 3, .copy = 0, .compute = 0, .batches = 10, .decode = 5}).account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 3 + 50);
  EXPECT_EQ(a.lane(Stage::decode)->exposed, 50);
  EXPECT_EQ(a.lane(Stage::read)->exposed, 3);
  EXPECT_EQ(a.utilisation(), std::nullopt);
  EXPECT_EQ(a.first_batch, 8);
  EXPECT_EQ(phase(a, Phase::held), 0);
}

}  // namespace
}  // namespace blksweep
