#include "plan/schedule_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "plan/epoch_part.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kOfABatch = 3;
constexpr std::uint32_t kEpoch = 20;
constexpr std::uint32_t kEpochs = 2;

std::vector<std::uint32_t> in_planned_order() {
  std::vector<std::uint32_t> positions(kEpoch * kEpochs);
  std::iota(positions.begin(), positions.end(), 0U);
  return positions;
}

bool same_gates(std::span<const Gate> one, std::span<const Gate> other) {
  return std::ranges::equal(one, other, [](const Gate& a, const Gate& b) {
    return a.read == b.read && a.consumed_batches == b.consumed_batches;
  });
}

// Swaps each item with one at most `ahead` behind it, epoch by epoch: nothing comes earlier than
// that.
void stir(std::span<std::uint32_t> items, std::uint32_t ahead, Rng& rng) {
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const std::uint32_t left = kEpoch - 1 - i % kEpoch;
    std::swap(items[i], items[i + rng.below(std::min(ahead, left) + 1)]);
  }
}

// One block, one parcel and one read for each position; reads come in an order of their own.
Plan plan_of(std::span<const std::uint32_t> read_order) {
  Plan plan;
  plan.epochs = kEpochs;
  plan.order.resize(read_order.size());
  std::iota(plan.order.begin(), plan.order.end(), 0U);
  plan.parcel_bytes.assign(read_order.size(), kBlock);
  plan.head.assign(read_order.size(), 0);
  for (const std::uint32_t position : read_order) {
    plan.first_piece.push_back(static_cast<std::uint32_t>(plan.pieces.size()));
    plan.reads.push_back({std::uint64_t{position} * kBlock, kBlock, 0});
    plan.pieces.push_back({position, 0, 0, kBlock});
  }
  plan.first_piece.push_back(static_cast<std::uint32_t>(plan.pieces.size()));
  return plan;
}

Schedule emitted(std::vector<std::uint32_t> emission) {
  Schedule out;
  out.emission = std::move(emission);
  for (std::uint32_t i = 0; i < out.emission.size(); ++i) {
    if (i % kEpoch % kOfABatch == 0) {
      out.batch_begin.push_back(i);
    }
  }
  out.batch_begin.push_back(static_cast<std::uint32_t>(out.emission.size()));
  return out;
}

// Whether batch b counts against the bound before read r: the reads before r bring all samples that
// are emitted up to its end, and as many in the order as that and what the window holds.
bool counts(const Plan& plan, const Schedule& s, std::uint32_t held, std::size_t b,
            std::uint32_t r) {
  const std::uint32_t end = s.batch_begin[b + 1];
  std::vector<bool> there(plan.order.size());
  for (std::uint32_t i = 0; i < r; ++i) {
    there[plan.pieces[i].parcel] = true;
  }
  const auto ahead = std::min<std::size_t>(end + held, plan.order.size());
  return std::all_of(s.emission.begin(), s.emission.begin() + end,
                     [&](std::uint32_t position) { return there[position]; }) &&
         std::all_of(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(ahead),
                     [](bool t) { return t; });
}

std::vector<Gate> expected_gates(const Plan& plan, const Schedule& s, std::uint32_t held,
                                 std::uint32_t prefetch) {
  std::vector<Gate> out;
  std::uint32_t counted = 0;
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    while (counted < s.batches() && counts(plan, s, held, counted, r)) {
      ++counted;
    }
    const std::uint32_t consumed = counted > prefetch ? counted - prefetch : 0;
    if (consumed > (out.empty() ? 0 : out.back().consumed_batches)) {
      out.push_back({r, consumed});
    }
  }
  return out;
}

TEST(SchedulePlaces, GatesAreThePrefetchBoundWhereMemoryIsNone) {
  Rng rng(7);
  for (int variant = 0; variant < 300; ++variant) {
    const auto held = static_cast<std::uint32_t>(rng.below(5));
    const auto prefetch = static_cast<std::uint32_t>(rng.below(4));
    std::vector<std::uint32_t> order = in_planned_order();
    std::vector<std::uint32_t> emission = order;
    stir(order, 6, rng);
    stir(emission, held, rng);
    const Plan plan = plan_of(order);
    Schedule schedule = emitted(emission);
    const std::vector<std::uint32_t> held_of(kEpochs, held);
    ASSERT_TRUE(
        place_parcels(plan, {.shuffle = Shuffle::buffer, .window = {1 << 30}, .prefetch = prefetch},
                      {kBlock, held_of}, schedule));
    const std::vector<Gate> expected = expected_gates(plan, schedule, held, prefetch);
    EXPECT_TRUE(same_gates(schedule.gates, expected)) << variant;
  }
}

// Depth is no reason for memory that the prefetch bound keeps empty, and what is left is enough.
TEST(SchedulePlaces, RoomForReadsThatThePrefetchBoundLetsAheadIsNeitherMoreNorLess) {
  Rng rng(8);
  for (int variant = 0; variant < 300; ++variant) {
    const auto held = static_cast<std::uint32_t>(1 + rng.below(5));
    const auto prefetch = static_cast<std::uint32_t>(rng.below(3));
    std::vector<std::uint32_t> order = in_planned_order();
    std::vector<std::uint32_t> emission = order;
    stir(emission, held, rng);
    const Plan plan = plan_of(order);
    Schedule schedule = emitted(emission);
    const std::vector<std::uint32_t> held_of(kEpochs, held);
    ASSERT_TRUE(place_parcels(plan,
                              {.shuffle = Shuffle::buffer,
                               .window = {held * kBlock},
                               .prefetch = prefetch,
                               .in_flight = {1 << 30}},
                              {kBlock, held_of}, schedule));
    const std::uint32_t batches = (prefetch + 2) * kOfABatch;
    EXPECT_LE(schedule.arena.n, (held + 2 * batches + 1) * kBlock * 17 / 16 + kBlock) << variant;
    const std::vector<Gate> expected = expected_gates(plan, schedule, held, prefetch);
    EXPECT_TRUE(same_gates(schedule.gates, expected)) << variant;
  }
}

// What is submitted together is in memory together: less room would have it wait for batches that
// the prefetch bound allows.
TEST(SchedulePlaces, ReadsThatNoGatePartsHaveRoomTogether) {
  Rng rng(9);
  for (int variant = 0; variant < 300; ++variant) {
    std::vector<std::uint32_t> order = in_planned_order();
    Plan plan = plan_of(order);
    plan.submit_batch = static_cast<std::uint32_t>(1 + rng.below(2 * kEpoch));
    ShuffleSettings settings{.shuffle = Shuffle::buffer,
                             .window = {kBlock},
                             .prefetch = static_cast<std::uint32_t>(rng.below(3)),
                             .in_flight = {1 << 30}};
    const std::vector<std::uint32_t> held_of(kEpochs, 1);
    Schedule schedule = emitted(order);
    ASSERT_TRUE(place_parcels(plan, settings, {kBlock, held_of}, schedule));
    settings.window = {1 << 30};
    Schedule endless = emitted(order);
    ASSERT_TRUE(place_parcels(plan, settings, {kBlock, held_of}, endless));
    EXPECT_TRUE(same_gates(schedule.gates, endless.gates)) << variant;
  }
}

// One iovec reads them. Samples that leave in an order of their own free places of one block each,
// into which the parcels of the next reads would fit one by one.
TEST(SchedulePlaces, WhatOneReadBringsLiesSideBySideInAnArenaFullOfSmallHolesToo) {
  constexpr std::uint32_t kTogether = 4;
  Rng rng(9);
  std::uint32_t beside = 0, reads = 0;
  for (int variant = 0; variant < 100; ++variant) {
    std::vector<std::uint32_t> order = in_planned_order();
    std::vector<std::uint32_t> emission = order;
    stir(emission, 8, rng);
    Plan plan = plan_of(order);
    plan.reads.clear();
    plan.first_piece.clear();
    for (std::uint32_t i = 0; i < order.size(); i += kTogether) {
      plan.first_piece.push_back(i);
      plan.reads.push_back({std::uint64_t{i} * kBlock, kTogether * kBlock, 0});
    }
    plan.first_piece.push_back(static_cast<std::uint32_t>(order.size()));
    Schedule schedule = emitted(emission);
    const std::vector<std::uint32_t> held_of(kEpochs, 8);
    ASSERT_TRUE(place_parcels(plan,
                              {.shuffle = Shuffle::buffer,
                               .window = {8 * kBlock},
                               .prefetch = 1,
                               .in_flight = {16 * kBlock}},
                              {kBlock, held_of}, schedule));
    ASSERT_LT(schedule.arena.n, order.size() * kBlock) << "or nothing is used again";
    for (std::uint32_t i = 0; i < order.size(); i += kTogether, ++reads) {
      const std::uint32_t span = schedule.slot[i + kTogether - 1] - schedule.slot[i];
      beside += span == (kTogether - 1) * kBlock / kSlotUnit ? 1 : 0;
    }
  }
  EXPECT_GT(beside, reads * 95 / 100) << reads;
}

// One epoch whose second half comes backwards: all of it waits for its last sample.
TEST(Emission, HoldsMostWhereverInTheEpochThatIs) {
  std::vector<std::uint32_t> positions = in_planned_order();
  Plan plan = plan_of(positions);
  plan.epochs = 1;
  const auto half = static_cast<std::uint32_t>(positions.size() / 2);
  std::reverse(positions.begin() + half, positions.end());
  const Emission emission = emission_of(plan, positions, kBlock);
  EXPECT_EQ(emission.held, std::vector<std::uint32_t>{half - 1});
  EXPECT_EQ(emission.peak_bytes, std::uint64_t{half} * kBlock);
}

// Each epoch's last batch is short, wherever it stands.
TEST(Schedule, TheLargestBatchMayBeAnyOne) {
  Schedule s;
  for (const auto& begins :
       std::vector<std::vector<std::uint32_t>>{{0, 5, 7, 9}, {0, 2, 7, 9}, {0, 2, 4, 9}}) {
    s.batch_begin = begins;
    EXPECT_EQ(s.largest_batch(), 5U);
  }
}

}  // namespace
}  // namespace blksweep
