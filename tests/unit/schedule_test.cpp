#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <string>

#include "plan/schedule_arena.h"
#include "support/chi_square.h"
#include "support/plan_model.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::chi_square;
using support::chi_square_tail;
using support::SyntheticCatalog;
using support::SyntheticSettings;

constexpr Shuffle kShuffles[] = {Shuffle::none, Shuffle::buffer, Shuffle::reservoir, Shuffle::full};

Plan plan_of(const Catalog& c, Order order, std::uint32_t epochs, const MergeSettings& m) {
  return make_plan(c, make_order(c, {.order = order, .epochs = epochs}), epochs, m);
}

std::vector<SyntheticSettings> shapes() {
  return {{.files = 0},
          {.files = 1},
          {.files = 600, .odd = 0.2, .holes = 0.2},
          {.files = 300, .extents_per_file = 4, .mean_bytes = 40000},
          {.files = 5,
           .mean_bytes = 60000,
           .parts_per_file = 90,
           .part_stride = 1000,
           .part_bytes = 1000}};
}

bool gates_increase(const Schedule& s) {
  return std::ranges::adjacent_find(s.gates, [](const Gate& a, const Gate& b) {
           return a.read >= b.read || a.consumed_batches >= b.consumed_batches;
         }) == s.gates.end();
}

// Every epoch's emissions are a permutation of its positions, cut into batches of at most `batch`.
void expect_complete(const Plan& plan, const Schedule& s, std::uint32_t batch) {
  ASSERT_EQ(s.emission.size(), plan.order.size());
  const std::size_t n = plan.order.size() / plan.epochs;
  for (std::size_t e = 0; e < plan.epochs; ++e) {
    auto mine = std::vector(s.emission.begin() + static_cast<std::ptrdiff_t>(e * n),
                            s.emission.begin() + static_cast<std::ptrdiff_t>((e + 1) * n));
    std::ranges::sort(mine);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(mine[i], e * n + i);
    }
  }
  for (std::size_t b = 0; b < s.batches(); ++b) {
    ASSERT_LT(s.batch_begin[b], s.batch_begin[b + 1]);
    ASSERT_LE(s.batch_begin[b + 1] - s.batch_begin[b], batch);
    ASSERT_EQ(s.batch_begin[b] / n, (s.batch_begin[b + 1] - 1) / n);
  }
}

TEST(Schedule, IsCompleteSafeAndRepeatable) {
  std::uint64_t variant = 0;
  for (const SyntheticSettings& shape : shapes()) {
    const SyntheticCatalog data(shape);
    const Catalog c = data.view();
    for (const Order order : {Order::random, Order::lba}) {
      for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
        for (const Shuffle shuffle : kShuffles) {
          const std::uint64_t v = variant++;
          const MergeSettings m{.merge = merge,
                                .align = v % 3 == 0 ? 512U : 4096U,
                                .batch = 8,
                                .horizon = {v % 2 == 0 ? 0U : 200000U},
                                .share = {32768}};
          const Plan plan = plan_of(c, order, 3, m);
          const ShuffleSettings settings{.shuffle = shuffle,
                                         .window = {shuffle == Shuffle::full ? 1U << 30 : 400000U},
                                         .drain = {v % 4 * 150000},
                                         .batch = 7,
                                         .prefetch = static_cast<std::uint32_t>(v % 3),
                                         .in_flight = {v % 2 * 65536},
                                         .epochs_apart = v % 5 < 2,
                                         .seed = v};
          const auto got = make_schedule(c, plan, settings);
          ASSERT_TRUE(got) << got.error().message();
          SCOPED_TRACE(std::string(to_string(merge)) + " " + std::string(to_string(shuffle)));
          expect_complete(plan, *got, 7);
          EXPECT_EQ(support::check_schedule(plan, *got), "");
          EXPECT_TRUE(gates_increase(*got));
          EXPECT_LE(got->window_peak.n, settings.window.n);
          const auto again = make_schedule(c, plan, settings);
          EXPECT_EQ(again->emission, got->emission);
          EXPECT_EQ(again->slot, got->slot);
        }
      }
    }
  }
}

TEST(Schedule, ABatchOfOneSampleIsOneAndOfNoneToo) {
  const SyntheticCatalog data({.files = 20});
  const Plan plan = plan_of(data.view(), Order::path, 2, {});
  for (const std::uint32_t batch : {0U, 1U}) {
    const auto s = make_schedule(data.view(), plan, {.batch = batch});
    ASSERT_TRUE(s) << s.error().message();
    EXPECT_EQ(s->batches(), 40U) << batch;
  }
}

TEST(Schedule, TheOrderThatIsDrawnAheadIsTheSchedules) {
  const SyntheticCatalog data({.files = 20});
  const Plan plan = plan_of(data.view(), Order::path, 2, {});
  for (const std::uint32_t slots : {0U, 5U}) {
    const ShuffleSettings settings{.batch = 3, .slots = slots};
    EXPECT_EQ(*draw_order(plan, settings), make_schedule(data.view(), plan, settings)->emission);
  }
}

TEST(Schedule, TheLargestBatchMayBeTheOnlyOne) {
  const SyntheticCatalog data({.files = 20});
  const Plan plan = plan_of(data.view(), Order::path, 1, {});
  for (const auto& [batch, largest] : {std::pair(30U, 20U), {20U, 20U}, {13U, 13U}, {1U, 1U}}) {
    const auto s = make_schedule(data.view(), plan, {.batch = batch});
    ASSERT_TRUE(s) << s.error().message();
    EXPECT_EQ(s->largest_batch(), largest);
  }
}

TEST(Schedule, ArenaStaysNearWindowAndBatches) {
  const SyntheticCatalog data({.files = 5000});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::random, 2, {});
  for (const Shuffle shuffle : {Shuffle::buffer, Shuffle::reservoir}) {
    const auto got = make_schedule(
        c, plan, {.shuffle = shuffle, .window = {4 << 20}, .batch = 32, .prefetch = 2});
    ASSERT_TRUE(got);
    EXPECT_LT(got->arena.n, (4U << 20) * 3 / 2 + 4 * 32 * 24576);
  }
}

TEST(Schedule, PrefetchZeroReadsNextBatchOnlyWhenAllIsConsumed) {
  const SyntheticCatalog data({.files = 640});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::lba, 1, {.merge = Merge::file});
  const auto got = make_schedule(c, plan, {.batch = 64, .prefetch = 0});
  ASSERT_TRUE(got);
  ASSERT_EQ(got->gates.size(), 9U);
  for (std::uint32_t b = 0; b < 9; ++b) {
    EXPECT_EQ(got->gates[b].consumed_batches, b + 1);
  }
}

TEST(Schedule, NextEpochIsReadWhileTheWindowDrains) {
  const SyntheticCatalog data({.files = 1000});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::lba, 2, {.merge = Merge::none});
  const auto got = make_schedule(
      c, plan, {.shuffle = Shuffle::reservoir, .window = {2 << 20}, .batch = 16, .prefetch = 2});
  ASSERT_TRUE(got);
  const auto second =
      std::ranges::find_if(plan.pieces, [](const Piece& p) { return p.parcel >= 1000; });
  const auto first_read = static_cast<std::uint32_t>(second - plan.pieces.begin());
  std::uint32_t waits_for = 0;
  for (const Gate& g : got->gates) {
    if (g.read <= first_read) {
      waits_for = g.consumed_batches;
    }
  }
  const std::uint32_t epoch_batches = 63;
  EXPECT_LT(waits_for, epoch_batches - 8);
}

// The first read of a parcel of the second epoch, and how many batches it waits for.
std::uint32_t second_epoch_waits_for(const Plan& plan, const Schedule& schedule) {
  const auto n = static_cast<std::uint32_t>(plan.parcel_bytes.size() / 2);
  std::uint32_t read = 0;
  while (plan.pieces[plan.first_piece[read]].parcel < n) {
    ++read;
  }
  std::uint32_t waits_for = 0;
  for (const Gate& g : schedule.gates) {
    waits_for = g.read <= read ? g.consumed_batches : waits_for;
  }
  return waits_for;
}

TEST(Schedule, EpochsApartReadsTheNextEpochOnceThisOneIsConsumed) {
  const SyntheticCatalog data({.files = 1000});
  const Catalog c = data.view();
  for (const Shuffle shuffle : kShuffles) {
    for (const Merge merge : {Merge::none, Merge::device}) {
      const Plan plan = plan_of(c, Order::lba, 2, {.merge = merge});
      const auto got = make_schedule(
          c, plan, {.shuffle = shuffle, .window = {1 << 30}, .batch = 16, .epochs_apart = true});
      ASSERT_TRUE(got);
      EXPECT_EQ(second_epoch_waits_for(plan, *got), 63U) << to_string(shuffle);
    }
  }
}

TEST(Schedule, ADrainOfTheWholeWindowEmitsWindowAfterWindow) {
  const SyntheticCatalog data({.files = 1000, .mean_bytes = 4096, .odd = 0});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::lba, 2, {});
  const auto got = make_schedule(
      c, plan, {.shuffle = Shuffle::buffer, .window = {400000}, .drain = {400000}, .batch = 16});
  ASSERT_TRUE(got);
  const std::size_t n = plan.order.size() / 2;
  // Where everything emitted so far is all that was read so far, a window has ended.
  std::size_t windows = 0;
  std::uint32_t greatest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    greatest = std::max(greatest, got->emission[i]);
    windows += greatest == i ? 1 : 0;
  }
  EXPECT_GE(windows, 3U);
  EXPECT_LT(windows, n / 4);
  EXPECT_FALSE(std::ranges::is_sorted(got->emission));
}

TEST(Schedule, WithoutADrainEachArrivalTakesTheOneFreePlace) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SyntheticCatalog data({.files = 300, .seed = seed});
    const Catalog c = data.view();
    const Plan plan = plan_of(c, Order::lba, 2, {});
    const ShuffleSettings plain{.shuffle = Shuffle::buffer,
                                .window = {60000 * seed},
                                .batch = 8,
                                .prefetch = 1,
                                .seed = seed};
    ShuffleSettings tiny = plain;
    tiny.drain = {1};  // less than a sample: nothing more leaves
    const auto first = make_schedule(c, plan, tiny);
    EXPECT_EQ(make_schedule(c, plan, plain)->emission, first->emission);
    tiny.drain = {2};
    const auto second = make_schedule(c, plan, tiny);
    EXPECT_EQ(second->slot, first->slot);
    EXPECT_TRUE(std::ranges::equal(second->gates, first->gates, [](const Gate& x, const Gate& y) {
      return x.read == y.read && x.consumed_batches == y.consumed_batches;
    })) << seed;
  }
}

TEST(Schedule, NamesBothSizesWhenTheWindowIsTooSmall) {
  const SyntheticCatalog data({.files = 50});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::lba, 1, {});
  const auto small = make_schedule(c, plan, {.shuffle = Shuffle::buffer, .window = {4096}});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().exit_code, Exit::usage);
  EXPECT_NE(small.error().message().find("4 KiB"), std::string::npos);
  const auto full = make_schedule(c, plan, {.shuffle = Shuffle::full, .window = {65536}});
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message().find("whole epoch"), std::string::npos);
}

// The window that a refusal asks for is enough, and a mebibyte less is not.
TEST(Schedule, AsksForTheWindowThatItNeeds) {
  const SyntheticCatalog data({.files = 6, .mean_bytes = 3'000'000});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::lba, 1, {});
  for (const Shuffle shuffle : {Shuffle::buffer, Shuffle::full}) {
    const auto with = [&](std::uint64_t mebibytes) {
      return make_schedule(c, plan, {.shuffle = shuffle, .window = {mebibytes << 20}});
    };
    const auto refused = with(1);
    ASSERT_FALSE(refused);
    std::smatch asked;
    const std::string text = refused.error().message();
    ASSERT_TRUE(std::regex_search(text, asked, std::regex("at least ([0-9]+)MiB"))) << text;
    const std::uint64_t least = std::stoull(asked[1]);
    EXPECT_TRUE(with(least)) << text;
    EXPECT_FALSE(with(least - 1)) << text;
  }
}

// The residents at the end of an epoch are its last emissions: each sample with equal probability.
TEST(Reservoir, KeepsAUniformSample) {
  constexpr std::uint32_t kSamples = 60;
  constexpr std::uint32_t kHeld = 12;
  const SyntheticCatalog data({.files = 1,
                               .mean_bytes = 1 << 20,
                               .parts_per_file = kSamples,
                               .part_stride = 4096,
                               .part_bytes = 4096,
                               .seed = 3});
  const Catalog c = data.view();
  ASSERT_EQ(c.samples(), kSamples);
  const Plan plan = plan_of(c, Order::path, 1, {});
  std::vector<std::uint64_t> kept(kSamples);
  constexpr std::uint64_t kSeeds = 20000;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto s = make_schedule(
        c, plan,
        {.shuffle = Shuffle::reservoir, .window = {std::uint64_t{kHeld} * 4096}, .seed = seed});
    ASSERT_TRUE(s);
    for (std::uint32_t i = kSamples - kHeld; i < kSamples; ++i) {
      ++kept[s->emission[i]];
    }
  }
  // Sampling without replacement: each count is hypergeometric, so the statistic is scaled by
  // (n - 1) / (n - k) to follow chi-square with n - 1 degrees of freedom.
  const double expected = static_cast<double>(kSeeds) * kHeld / kSamples;
  const double x = chi_square(kept, expected) * (kSamples - 1.0) / (kSamples - kHeld);
  EXPECT_GT(chi_square_tail(x, kSamples - 1), 1e-4);
  EXPECT_LT(chi_square_tail(x, kSamples - 1), 1 - 1e-4);
}

// What a window holds at the end leaves it in any order, each as likely.
TEST(Schedule, AWindowThatHoldsAllIsEmittedInEachOrderAsLikely) {
  const SyntheticCatalog data({.files = 1,
                               .mean_bytes = 1 << 20,
                               .parts_per_file = 4,
                               .part_stride = 4096,
                               .part_bytes = 4096,
                               .seed = 3});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::path, 1, {});
  for (const Shuffle shuffle : {Shuffle::buffer, Shuffle::reservoir, Shuffle::full}) {
    std::map<std::vector<std::uint32_t>, std::uint64_t> orders;
    constexpr std::uint64_t kSeeds = 4800;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto s =
          make_schedule(c, plan, {.shuffle = shuffle, .window = {1 << 20}, .seed = seed});
      ASSERT_TRUE(s);
      ++orders[s->emission];
    }
    std::vector<std::uint64_t> counts;
    for (const auto& [order, count] : orders) {
      counts.push_back(count);
    }
    ASSERT_EQ(counts.size(), 24U);
    EXPECT_GT(chi_square_tail(chi_square(counts, kSeeds / 24.0), 23), 1e-4);
  }
}

// Whatever the sizes, an arrival sends a sample on at least, itself or a resident.
TEST(Reservoir, HoldsNeverMoreSamplesThanWhenItWasFilled) {
  constexpr std::uint64_t kWindow = 200'000;
  const SyntheticCatalog data({.files = 400});
  const Catalog c = data.view();
  const Plan plan = plan_of(c, Order::path, 1, {});
  std::uint32_t filled = 0;
  for (std::uint64_t bytes = 0; filled < 400; ++filled) {
    bytes += align_up(plan.parcel_bytes[plan.parcel_of(filled)], 512);
    if (bytes > kWindow) {
      break;
    }
  }
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto s =
        make_schedule(c, plan, {.shuffle = Shuffle::reservoir, .window = {kWindow}, .seed = seed});
    ASSERT_TRUE(s) << s.error().message();
    for (std::uint32_t i = 0; i < s->emission.size(); ++i) {
      ASSERT_LE(s->emission[i], i + filled) << seed;
    }
  }
}

TEST(ArenaMap, NeverHandsOutAGranuleTwiceAndJoinsWhatComesBack) {
  Rng rng(9);
  ArenaMap arena(1000);
  std::vector<int> used(1000);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> live;
  for (int step = 0; step < 20000; ++step) {
    const auto n = static_cast<std::uint32_t>(1 + rng.below(60));
    const auto at = arena.take(n);
    if (at && rng.below(20) != 0) {
      for (std::uint32_t g = *at; g < *at + n; ++g) {
        ASSERT_EQ(used[g]++, 0);
      }
      live.emplace_back(*at, n);
    } else if (at) {
      arena.give(*at, n);
    }
    if (!live.empty() && (!at || rng.below(3) == 0)) {
      std::swap(live[rng.below(live.size())], live.back());
      for (std::uint32_t g = live.back().first; g < live.back().first + live.back().second; ++g) {
        --used[g];
      }
      arena.give(live.back().first, live.back().second);
      live.pop_back();
    }
  }
  for (const auto& [at, n] : live) {
    arena.give(at, n);
  }
  EXPECT_EQ(arena.take(1000), 0U);
}

}  // namespace
}  // namespace blksweep
