#include "plan/in_place.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/rng.h"
#include "loader/most_held.h"
#include "plan/epoch_part.h"
#include "plan/shuffle_emission.h"
#include "support/plan_model.h"
#include "support/reader_rig.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kSample = 4096;

struct Shape {
  std::uint32_t samples, epochs, window, at_once, batch, prefetch;
  std::uint32_t ahead = 0;
  bool epochs_apart = false;
};

Shape shape_of(Rng& rng) {
  const auto drawn = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<std::uint32_t>(from + rng.below(to - from + 1));
  };
  return {.samples = drawn(2, 400),
          .epochs = drawn(1, 3),
          .window = drawn(1, 80),
          .at_once = drawn(2, 40),
          .batch = drawn(1, 20),
          .prefetch = drawn(0, 3),
          .ahead = drawn(0, 1) * drawn(0, 30),
          .epochs_apart = rng.below(3) == 0};
}

// Samples of one size; a read has `at_once` of them, in an order that differs from that of the
// positions by at most `ahead`. A read ends with its epoch.
Plan plan_of(const Shape& shape, Rng& rng) {
  Plan plan;
  plan.epochs = shape.epochs;
  plan.order.resize(std::size_t{shape.samples} * shape.epochs);
  plan.parcel_bytes.assign(plan.order.size(), kSample);
  plan.head.assign(plan.order.size(), 0);
  for (std::uint32_t e = 0; e < shape.epochs; ++e) {
    std::vector<std::uint32_t> order(shape.samples);
    std::iota(order.begin(), order.end(), e * shape.samples);
    for (std::uint32_t i = 0; i < shape.samples; ++i) {
      const std::uint32_t left = shape.samples - 1 - i;
      std::swap(order[i], order[i + rng.below(std::min(shape.ahead, left) + 1)]);
    }
    for (std::uint32_t i = 0; i < shape.samples; ++i) {
      if (i % shape.at_once == 0) {
        plan.first_piece.push_back(static_cast<std::uint32_t>(plan.pieces.size()));
        plan.reads.push_back({0, 0, 0});
      }
      plan.pieces.push_back({order[i], 0, i % shape.at_once * kSample, kSample});
      plan.reads.back().length += kSample;
    }
  }
  plan.first_piece.push_back(static_cast<std::uint32_t>(plan.pieces.size()));
  return plan;
}

ShuffleSettings settings_of(const Shape& shape, std::uint64_t seed) {
  return {.shuffle = Shuffle::reservoir,
          .window = {std::uint64_t{shape.window} * kSample},
          .batch = shape.batch,
          .prefetch = shape.prefetch,
          .in_flight = {std::uint64_t{shape.at_once} * kSample},
          .epochs_apart = shape.epochs_apart,
          .seed = seed};
}

// Each emission and the one behind it in its batch, but where what arrived last ends and the window
// begins, and where its places, which are used in turn, end.
bool batches_lie_side_by_side(const Plan& plan, const Schedule& s) {
  for (std::size_t b = 0; b < s.batches(); ++b) {
    for (std::uint32_t i = s.batch_begin[b]; i + 1 < s.batch_begin[b + 1]; ++i) {
      const std::uint64_t next = s.place_of(plan, i + 1);
      const bool last = s.arrival_at(plan, i) && !s.arrival_at(plan, i + 1);
      if (next != 0 && !last && s.place_of(plan, i) + kSample != next) {
        return false;
      }
    }
  }
  return true;
}

TEST(InPlace, EachEmissionFindsItsSampleAndEachBatchLiesSideBySide) {
  std::uint32_t in_place = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    const Shape shape = shape_of(rng);
    const Plan plan = plan_of(shape, rng);
    const auto schedule = make_schedule({}, plan, settings_of(shape, seed));
    ASSERT_TRUE(schedule) << schedule.error().message();
    EXPECT_EQ(support::check_schedule(plan, *schedule), "") << seed;
    EXPECT_TRUE(schedule->in_place.held == 0 || batches_lie_side_by_side(plan, *schedule)) << seed;
    in_place += schedule->in_place.held > 0 ? 1 : 0;
  }
  EXPECT_GT(in_place, 800U) << "most of what has more samples than fit";
}

std::set<std::uint32_t> awaited_by(const Plan& plan, const Schedule& s, std::size_t batch) {
  std::set<std::uint32_t> positions;
  s.for_each_awaited(plan, batch, [&](std::uint32_t position) { positions.insert(position); });
  return positions;
}

// The reservoir draws from a full window: the first batch of an epoch waits for all of it.
TEST(InPlace, AnEpochsFirstBatchWaitsForTheWholeWindow) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const Shape shape = shape_of(rng);
    const Plan plan = plan_of(shape, rng);
    const auto schedule = make_schedule({}, plan, settings_of(shape, seed));
    ASSERT_TRUE(schedule);
    for (std::size_t b = 0; b < schedule->batches(); ++b) {
      const std::uint32_t first = schedule->batch_begin[b];
      const std::set<std::uint32_t> awaited = awaited_by(plan, *schedule, b);
      const std::uint32_t held = first % plan.of_epoch() == 0 ? schedule->in_place.held : 0;
      for (std::uint32_t p = first; p < first + held; ++p) {
        ASSERT_TRUE(awaited.contains(p)) << p << " of batch " << b << ", seed " << seed;
      }
    }
  }
}

// As many batches are out as the prefetch says, also where an epoch follows another one: its first
// samples arrive while the last batches of the one before are held.
TEST(InPlace, AnEpochArrivesWhileTheLastBatchesOfTheOneBeforeAreHeld) {
  std::uint32_t in_place = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    Shape shape = shape_of(rng);
    shape.ahead = 0;
    shape.epochs_apart = false;
    const Plan plan = plan_of(shape, rng);
    const auto schedule = make_schedule({}, plan, settings_of(shape, seed));
    ASSERT_TRUE(schedule) << schedule.error().message();
    const auto batches = static_cast<std::uint32_t>(schedule->batches());
    if (schedule->in_place.held > 0 && shape.epochs > 1) {
      EXPECT_GE(most_held_batches(plan, *schedule), std::min(batches, shape.prefetch + 1)) << seed;
      ++in_place;
    }
  }
  EXPECT_GT(in_place, 500U);
}

// What is emitted is the reservoir's, wherever it lies: the general schedule has the same.
TEST(InPlace, ChangesNothingOfTheEmission) {
  Rng rng(5);
  const Shape shape{300, 2, 30, 16, 8, 2};
  Plan plan = plan_of(shape, rng);
  const auto in_place = make_schedule({}, plan, settings_of(shape, 3));
  ASSERT_TRUE(in_place);
  ASSERT_EQ(in_place->in_place.held, 30U);
  const Emission drawn = draw_emission(plan, settings_of(shape, 3), kSample);
  EXPECT_EQ(in_place->emission, drawn.positions);
  EXPECT_LE(in_place->arena.n, std::uint64_t{30 + 2 * 16 + 8 * 8} * kSample);
}

// k * ln(n / k) of n samples: those that a resident makes room for; and k that stay to the end,
// which lie in the order in which they leave from then.
TEST(InPlace, ExchangesAreThoseOfAReservoir) {
  Rng rng(6);
  const Shape shape{40000, 1, 4000, 64, 256, 2};
  const Plan plan = plan_of(shape, rng);
  const auto schedule = make_schedule({}, plan, settings_of(shape, 9));
  ASSERT_TRUE(schedule);
  EXPECT_NEAR(static_cast<double>(schedule->in_place.exchanges.size()), 4000 * 3.302585, 400);
}

Schedule of(const Plan& plan, const ShuffleSettings& settings) {
  auto schedule = make_schedule({}, plan, settings);
  EXPECT_TRUE(schedule) << schedule.error().message();
  return schedule ? *std::move(schedule) : Schedule{};
}

TEST(InPlace, IsForSmallSamplesOfOneSizeThatAReservoirDrewWhole) {
  Rng rng(7);
  const Shape shape{200, 1, 20, 8, 4, 1};
  const Plan plan = plan_of(shape, rng);
  const ShuffleSettings settings = settings_of(shape, 1);
  ASSERT_GT(of(plan, settings).in_place.held, 0U);

  ShuffleSettings other = settings;
  other.shuffle = Shuffle::buffer;
  EXPECT_EQ(of(plan, other).in_place.held, 0U);
  other = settings;
  other.window = {190 * kSample};
  EXPECT_EQ(of(plan, other).in_place.held, 0U) << "everything fits";

  Plan odd = plan;
  odd.parcel_bytes.back() += 4096;
  odd.pieces.back().length += 4096;
  odd.reads.back().length += 4096;
  EXPECT_EQ(of(odd, settings).in_place.held, 0U);
  Shape alone = shape;
  alone.at_once = 1;
  EXPECT_EQ(of(plan_of(alone, rng), settings).in_place.held, 0U);

  const auto whole = draw_order(plan, settings);
  ASSERT_TRUE(whole);
  std::vector<std::uint32_t> odd_ones;
  for (std::uint32_t i = 1; i < whole->size(); i += 2) {
    odd_ones.push_back(i);
  }
  const PartOrder part = take_indices(plan, *whole, std::move(odd_ones));
  Shape half = shape;
  half.samples = static_cast<std::uint32_t>(part.order.size());
  const Plan of_rank = plan_of(half, rng);
  const auto schedule = schedule_emission(of_rank, settings, part.emission);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->in_place.held, 0U) << "nearly all would be exchanged";
  EXPECT_EQ(support::check_schedule(of_rank, *schedule), "");
}

// Reads of several samples come back short, late and out of order, or not at all.
TEST(InPlace, TheReaderDeliversEachSamplesBytes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    support::ReaderRig rig(
        {.data = {.files = 6,
                  .mean_bytes = 300000,
                  .parts_per_file = 60,
                  .part_stride = kSample,
                  .part_bytes = kSample,
                  .seed = seed},
         .order = Order::lba,
         .merge = {.merge = seed % 2 == 0 ? Merge::file : Merge::device, .max = {32768}},
         .shuffle = {.shuffle = Shuffle::reservoir,
                     .window = {30 * kSample},
                     .batch = 1 + static_cast<std::uint32_t>(rng.below(9)),
                     .in_flight = {65536},
                     .seed = seed},
         .epochs = 2,
         .seed = seed});
    rig.engine.outcome = [&rng](const support::FakeEngine::Asked& a) -> std::int32_t {
      return static_cast<std::int32_t>(rng.below(3) == 0 ? 1 + rng.below(a.length) : a.length);
    };
    ASSERT_GT(rig.schedule.in_place.held, 0U) << seed;
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.wrong_bytes(), "") << seed;
    EXPECT_EQ(rig.delivered(), rig.plan.order.size());
  }
}

}  // namespace
}  // namespace blksweep
