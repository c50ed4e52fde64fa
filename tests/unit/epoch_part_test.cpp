// Parts of an epoch: disjoint, together the whole, in its order, and never more in memory.
#include "plan/epoch_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "plan/schedule.h"
#include "support/plan_model.h"
#include "support/sanitizers.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;
using support::SyntheticSettings;

constexpr std::uint32_t kEpochs = 2;

std::vector<std::uint32_t> samples_of(const Plan& plan,
                                      const std::vector<std::uint32_t>& emission) {
  std::vector<std::uint32_t> out;
  std::ranges::transform(emission, std::back_inserter(out),
                         [&](std::uint32_t position) { return plan.order[position]; });
  return out;
}

// One that a reservoir passes on at once is in memory beside the window.
std::uint64_t largest(const Plan& plan) {
  return plan.parcel_bytes.empty()
             ? 0
             : align_up(*std::ranges::max_element(plan.parcel_bytes), kPageBytes);
}

struct Whole {
  SyntheticCatalog data;
  MergeSettings merge;
  ShuffleSettings shuffle;
  Plan plan;
  std::vector<std::uint32_t> emission;
};

Whole whole_of(const SyntheticSettings& shape, Merge merge, Shuffle shuffle) {
  Whole w{SyntheticCatalog(shape),
          {.merge = merge, .horizon = {100'000}, .share = {32'768}},
          {},
          {},
          {}};
  w.shuffle = {.shuffle = shuffle,
               .window = {shuffle == Shuffle::full ? 1U << 30 : 400'000U},
               .batch = 7,
               .in_flight = {65'536},
               .seed = 3};
  const Catalog c = w.data.view();
  w.plan =
      make_plan(c, make_order(c, {.order = Order::chunked, .chunk = {65'536}, .epochs = kEpochs}),
                kEpochs, w.merge);
  w.emission = *draw_order(w.plan, w.shuffle);
  return w;
}

std::vector<Whole> wholes() {
  std::vector<Whole> out;
  const SyntheticSettings shapes[] = {{.files = 600, .odd = 0.2, .holes = 0.2},
                                      {.files = 5,
                                       .mean_bytes = 60'000,
                                       .parts_per_file = 90,
                                       .part_stride = 1000,
                                       .part_bytes = 1000}};
  for (const SyntheticSettings& shape : shapes) {
    for (const Merge merge : {Merge::none, Merge::device}) {
      for (const Shuffle shuffle :
           {Shuffle::none, Shuffle::buffer, Shuffle::reservoir, Shuffle::full}) {
        if (!support::sanitized() || shuffle == Shuffle::none || shuffle == Shuffle::reservoir) {
          out.push_back(whole_of(shape, merge, shuffle));  // 50 s of each sanitizer's otherwise
        }
      }
    }
  }
  return out;
}

// What the part delivers, after its plan and schedule were carried out on the model.
std::vector<std::uint32_t> delivered(const Whole& w, const EpochPart& part) {
  PartOrder mine = take_part(w.data.view(), w.plan, w.emission, part);
  const Plan plan = make_plan(w.data.view(), mine.order, kEpochs, w.merge);
  EXPECT_EQ(support::check_plan(w.data, plan, w.merge), "");
  const auto schedule = schedule_emission(plan, w.shuffle, mine.emission);
  EXPECT_TRUE(schedule) << schedule.error().message();
  EXPECT_EQ(support::check_schedule(plan, *schedule), "");
  if (w.shuffle.shuffle != Shuffle::none) {
    EXPECT_LE(schedule->window_peak.n, w.shuffle.window.n + plan.horizon_peak + largest(plan));
  }
  return samples_of(plan, schedule->emission);
}

TEST(EpochPart, PartsOfAllRanksAreTheWholeInItsOrder) {
  for (const Whole& w : wholes()) {
    const std::vector<std::uint32_t> all = samples_of(w.plan, w.emission);
    const std::size_t n = all.size() / kEpochs;
    for (const auto& [first, ranks] :
         {std::tuple{0U, 1U}, {0U, 2U}, {0U, 7U}, {123U, 1U}, {200U, 3U}}) {
      std::vector<std::uint32_t> joined(all.size(), ~0U);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::vector<std::uint32_t> part = delivered(w, {first, rank, ranks});
        const std::size_t share = part.size() / kEpochs;
        for (std::size_t i = 0; i < part.size(); ++i) {
          joined[i / share * n + first + i % share * ranks + rank] = part[i];
        }
      }
      for (std::size_t e = 0; e < kEpochs; ++e) {
        const auto from = static_cast<std::ptrdiff_t>(e * n);
        EXPECT_TRUE(std::equal(joined.begin() + from + first,
                               joined.begin() + from + static_cast<std::ptrdiff_t>(n),
                               all.begin() + from + first))
            << to_string(w.shuffle.shuffle) << " first " << first << " ranks " << ranks;
      }
    }
  }
}

// Each sample in its place of the whole, no file in two parts, and none far from its share.
TEST(EpochPart, PartsByFileAreTheWholeAndNoFileIsDivided) {
  for (const Whole& w : wholes()) {
    const Catalog c = w.data.view();
    const std::vector<std::uint32_t> all = samples_of(w.plan, w.emission);
    const std::uint64_t largest_file =
        std::ranges::max_element(c.files, {}, &FileRecord::size)->size;
    for (const std::uint32_t ranks : {2U, 7U}) {
      std::vector<std::uint32_t> joined(all.size(), ~0U), owner(c.files.size(), ~0U);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const EpochPart part{.rank = rank, .ranks = ranks, .by_file = true};
        const auto places = take_part(c, w.plan, w.emission, part).places;
        const std::vector<std::uint32_t> samples = delivered(w, part);
        ASSERT_EQ(places.size(), samples.size());
        for (std::size_t i = 0; i < samples.size(); ++i) {
          joined[places[i]] = samples[i];
          std::uint32_t& of = owner[c.sample(samples[i]).file];
          EXPECT_TRUE(of == ~0U || of == rank);
          of = rank;
        }
      }
      EXPECT_EQ(joined, all);
      const auto rank_of = ranks_of_files(c, ranks);
      EXPECT_TRUE(std::ranges::is_sorted(rank_of));
      std::vector<std::uint64_t> bytes(ranks);
      std::uint64_t all_bytes = 0;
      for (std::uint32_t f = 0; f < rank_of.size(); ++f) {
        bytes[rank_of[f]] += c.files[f].size;
        all_bytes += c.files[f].size;
      }
      for (const std::uint64_t b : bytes) {
        EXPECT_LE(b, all_bytes / ranks + largest_file + c.files.size());
      }
    }
  }
}

TEST(EpochPart, PositionsOfRanksAreAllOnceInTheOrderOfReading) {
  for (const Whole& w : wholes()) {
    for (const bool by_file : {false, true}) {
      std::vector<std::uint32_t> times(w.plan.order.size());
      for (std::uint32_t rank = 0; rank < 7; ++rank) {
        const EpochPart part{.rank = rank, .ranks = 7, .by_file = by_file, .own_window = true};
        const auto positions = positions_of_rank(w.data.view(), w.plan, part);
        EXPECT_TRUE(std::ranges::is_sorted(positions));
        for (const std::uint32_t p : positions) {
          ++times[p];
        }
      }
      EXPECT_EQ(times, std::vector<std::uint32_t>(times.size(), 1));
    }
  }
}

TEST(EpochPart, RanksTakeTurnsAndOneWithNoMoreIsPassedOver) {
  const std::vector<std::vector<std::uint32_t>> of_rank{{1, 2, 3, 4}, {}, {7, 8}};  // two epochs
  const JoinedTurns joined = join_turns(of_rank, 2, 0);
  EXPECT_EQ(joined.samples, (std::vector<std::uint32_t>{1, 7, 2, 3, 8, 4}));
  EXPECT_EQ(joined.places, (std::vector<std::uint32_t>{0, 2, 3, 5}));
  EXPECT_TRUE(join_turns(of_rank, 2, 1).places.empty());
}

TEST(EpochPart, WindowsOfRanksAreDrawnApart) {
  const SyntheticCatalog data({.files = 100});
  const Plan plan = make_plan(data.view(), make_order(data.view(), {}), 1, {});
  const auto drawn = [&](std::uint32_t rank) {
    return *draw_order(plan,
                       {.shuffle = Shuffle::full, .window = {1 << 30}, .seed = 3, .rank = rank});
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(0), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(EpochPart, AnEmissionDrawnElsewhereIsScheduledAlike) {
  for (const Whole& w : wholes()) {
    const auto drawn = make_schedule(w.data.view(), w.plan, w.shuffle);
    const auto given = schedule_emission(w.plan, w.shuffle, w.emission);
    ASSERT_TRUE(drawn && given);
    EXPECT_EQ(drawn->emission, given->emission);
    EXPECT_LE(given->window_peak.n, drawn->window_peak.n + largest(w.plan));
  }
}

TEST(EpochPart, AnEpochIsTheSameWhateverWasTheFirst) {
  const SyntheticCatalog data({.files = 300});
  const Catalog c = data.view();
  for (const Order order : {Order::random, Order::chunked}) {
    const auto whole = make_order(c, {.order = order, .chunk = {65'536}, .epochs = 3});
    const auto last = make_order(c, {.order = order, .chunk = {65'536}, .first_epoch = 2});
    EXPECT_TRUE(std::equal(last.begin(), last.end(), whole.begin() + 600));
  }
  for (const Shuffle shuffle : {Shuffle::buffer, Shuffle::reservoir, Shuffle::full}) {
    const auto drawn = [&](std::uint32_t epochs, std::uint32_t first) {
      const Plan plan = make_plan(c, make_order(c, {.epochs = epochs}), epochs, {});
      return *draw_order(plan, {.shuffle = shuffle, .window = {16 << 20}, .first_epoch = first});
    };
    const auto whole = drawn(3, 0), last = drawn(1, 2);
    for (std::size_t i = 0; i < last.size(); ++i) {
      ASSERT_EQ(whole[600 + i], 600 + last[i]);
    }
  }
}

}  // namespace
}  // namespace blksweep
