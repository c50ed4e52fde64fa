// What settings come to: none of them may follow from another one that says nothing of it.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/units.h"
#include "experiment/record/quality.h"
#include "loader/planned_epoch.h"
#include "loader/verify.h"
#include "support/flat_catalog.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

// Files side by side in catalog order, read from the device.
FlatCatalog side_by_side(std::uint32_t count, std::uint64_t size) {
  FlatCatalog flat("/data");
  for (std::uint32_t i = 0; i < count; ++i) {
    flat.add("f" + std::to_string(100'000 + i), size, (i + 1) * size);
  }
  return flat;
}

Result<PlannedEpoch> planned(const FlatCatalog& flat, const LoaderSettings& cell) {
  Source source;
  source.catalog = flat.view();
  source.catalog.device_readable = true;
  source.direct_align = kSectorBytes;
  return plan_epoch(source, cell, 7);
}

PlannedEpoch must(const FlatCatalog& flat, const LoaderSettings& cell) {
  Result<PlannedEpoch> p = planned(flat, cell);
  EXPECT_TRUE(p) << p.error().message();
  return p ? *std::move(p) : PlannedEpoch{};
}

bool same_reads(const Plan& a, const Plan& b) {
  return std::ranges::equal(a.reads, b.reads, [](const Read& x, const Read& y) {
    return x.offset == y.offset && x.length == y.length && x.source == y.source;
  });
}

LoaderSettings cell_of(Order order, Merge merge) {
  LoaderSettings cell;
  cell.order = order;
  cell.merge = merge;
  return cell;
}

double mean_seek(const FlatCatalog& flat, const PlannedEpoch& p) {
  Catalog catalog = flat.view();
  catalog.device_readable = true;
  return summarize(catalog, p.plan).mean_seek_bytes.value_or(0);
}

// What is said to be allocated is: small pieces are staged behind the arena, in a room per read.
TEST(PlanCell, MemoryIsTheArenaAndWhereSmallPiecesAreStaged) {
  LoaderSettings cell = cell_of(Order::lba, Merge::device);
  cell.depth = 8;
  const PlannedEpoch in_order = must(side_by_side(1000, 4096), cell);
  EXPECT_EQ(memory_of(in_order).n, in_order.schedule.arena.n) << "one iovec a read";
  cell.shuffle = Shuffle::buffer;
  cell.window = {Bytes{16'000'000}, 0};
  cell.merge_horizon = Bytes{0};
  const PlannedEpoch shuffled = must(side_by_side(20000, 4096), cell);
  EXPECT_EQ(memory_of(shuffled).n, shuffled.schedule.arena.n + 8 * kMiB);
  cell.shuffle = Shuffle::none;
  const PlannedEpoch large = must(side_by_side(100, 65536), cell);
  EXPECT_EQ(memory_of(large).n, large.schedule.arena.n);
}

// Of a filesystem with small blocks no more is read than a block; of one with large ones a page.
TEST(PlanCell, ReadsEndWithABlockOrAPageWhicheverIsSmaller) {
  const FlatCatalog flat = side_by_side(4, 5000);
  for (const auto& [block, granule] : {std::pair(512U, 512U), std::pair(1024U, 1024U),
                                       std::pair(4096U, 4096U), std::pair(65536U, 4096U)}) {
    Source source;
    source.catalog = flat.view();
    source.catalog.block_bytes = block;
    source.direct_align = kSectorBytes;
    const Result<PlannedEpoch> p = plan_epoch(source, cell_of(Order::path, Merge::none), 7);
    ASSERT_TRUE(p) << p.error().message();
    EXPECT_EQ(p->align, granule);
    EXPECT_EQ(p->plan.reads.front().length, (5000 + granule - 1) / granule * granule);
  }
}

TEST(PlanCell, APartOfEachFileKeepsTheGranuleOfTheDevice) {
  const FlatCatalog flat = side_by_side(4, 5000);
  Source source;
  source.catalog = flat.view();
  source.catalog.block_bytes = 4096;
  source.catalog.share = {500'000};
  source.direct_align = kSectorBytes;
  const Result<PlannedEpoch> p = plan_epoch(source, cell_of(Order::path, Merge::none), 7);
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->align, kSectorBytes);
  EXPECT_EQ(p->plan.reads.front().length, 2560U) << "2500 in sectors";
}

// It asked for 16 GiB: the rank of a sample that was not among the first reads was 2^32 - 1.
TEST(PlanCell, ASampleThatFailedCostsTheQualityNothing) {
  const FlatCatalog flat = side_by_side(300, 4096);
  for (const Order order : {Order::random, Order::lba}) {
    const PlannedEpoch p = must(flat, cell_of(order, Merge::none));
    for (const std::size_t failed : {0UL, 150UL, 299UL}) {
      std::vector<std::uint32_t> emitted = p.plan.order;
      emitted.erase(emitted.begin() + static_cast<std::ptrdiff_t>(failed));
      const QualityRecord q = quality_of(flat.view(), order, p, emitted);
      ASSERT_TRUE(q.rank_decorrelation_vs_read);
      EXPECT_NEAR(*q.rank_decorrelation_vs_read, 0, 1e-12);  // emitted as read
    }
  }
}

// Issue 10, finding 5.
TEST(PlanCell, TheRefillIsTheSameInAllOrders) {
  for (const Order order : {Order::random, Order::path, Order::directory, Order::inode, Order::lba,
                            Order::chunked, Order::recorded}) {
    LoaderSettings cell = cell_of(order, Merge::none);
    cell.depth = 32;
    EXPECT_EQ(refill_of(cell), 8U) << to_string(order);
  }
}

TEST(PlanCell, ARefillIsANumberOrAShareOfTheDepth) {
  LoaderSettings cell;
  cell.depth = 128;
  EXPECT_EQ(refill_of(cell), 32U);
  cell.refill = {0, 50};
  EXPECT_EQ(refill_of(cell), 64U);
  cell.refill = {5, 0};
  EXPECT_EQ(refill_of(cell), 5U);
  cell.depth = 3;
  EXPECT_EQ(refill_of(cell), 3U) << "no more than there can be in flight";
  cell.refill = {0, 25};
  EXPECT_EQ(refill_of(cell), 1U);
}

TEST(PlanCell, GroupsOfTheKernelAreASettingAndWaitedFor) {
  LoaderSettings cell = cell_of(Order::lba, Merge::kernel);
  EXPECT_EQ(must(side_by_side(100, 4096), cell).plan.submit_batch, 16U);
  EXPECT_EQ(refill_of(cell), 16U);
  cell.merge_batch = {4, 0};
  EXPECT_EQ(must(side_by_side(100, 4096), cell).plan.submit_batch, 4U);
  EXPECT_EQ(refill_of(cell), 8U);
  cell.merge = Merge::none;
  EXPECT_EQ(must(side_by_side(100, 4096), cell).plan.submit_batch, 0U);
}

// Issue 10, finding 6.
TEST(PlanCell, AWindowWithoutAShuffleChangesNothing) {
  const FlatCatalog flat = side_by_side(4000, 24 << 10);
  for (const Order order : {Order::random, Order::lba, Order::chunked, Order::recorded}) {
    for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
      LoaderSettings cell = cell_of(order, merge);
      cell.chunk = {64 << 10};
      cell.window = {Bytes{4096}, 0};  // not even a sample
      const PlannedEpoch small = must(flat, cell);
      cell.window = {Bytes{64 * kMiB}, 0};
      const PlannedEpoch large = must(flat, cell);
      SCOPED_TRACE(std::string(to_string(order)) + " " + std::string(to_string(merge)));
      EXPECT_TRUE(same_reads(small.plan, large.plan));
      EXPECT_EQ(small.schedule.emission, large.schedule.emission);
      EXPECT_EQ(small.schedule.slot, large.schedule.slot);
      EXPECT_EQ(small.schedule.arena.n, large.schedule.arena.n);
      EXPECT_EQ(small.schedule.window_peak.n, large.schedule.window_peak.n);
    }
  }
}

TEST(PlanCell, TheHorizonLeavesChunksWhereTheOrderPutThem) {
  const FlatCatalog flat = side_by_side(8000, 16 << 10);
  LoaderSettings cell = cell_of(Order::chunked, Merge::none);
  cell.chunk = {64 << 10};
  const double without = mean_seek(flat, must(flat, cell));
  cell.merge = Merge::device;
  const double with = mean_seek(flat, must(flat, cell));
  EXPECT_GT(without, 30.0 * kMiB);
  EXPECT_NEAR(with / without, 1, 0.05) << with << " against " << without;
}

TEST(PlanCell, TheHorizonIsNoMoreThanTheChunkAndIsAskedFor) {
  LoaderSettings cell = cell_of(Order::chunked, Merge::device);
  EXPECT_EQ(horizon_of(cell).n, 4 * kMiB);
  cell.merge_horizon = Bytes{16 * kMiB};
  EXPECT_EQ(horizon_of(cell).n, 4 * kMiB);
  cell.chunk = {64 << 10};
  EXPECT_EQ(horizon_of(cell).n, std::uint64_t{64} << 10);
  cell.order = Order::lba;
  EXPECT_EQ(horizon_of(cell).n, 16 * kMiB);
  cell.order = Order::random;
  EXPECT_EQ(horizon_of(cell).n, 0U) << "a random order is kept";
  cell.sort_window = {Bytes{}, 10};
  EXPECT_EQ(horizon_of(cell).n, 16 * kMiB);
  cell.merge = Merge::none;
  EXPECT_EQ(horizon_of(cell).n, 0U);
}

// Files whose second extents lie far behind: sorted only as far as the horizon reaches.
TEST(PlanCell, WhatTheHorizonHoldsBackCountsAsWindow) {
  FlatCatalog flat("/data");
  for (std::uint32_t i = 0; i < 1000; ++i) {
    flat.add("f" + std::to_string(10'000 + i), 64 << 10, (i + 1) * (std::uint64_t{64} << 10));
    flat.extents.back().length = 32 << 10;
    flat.extents.push_back({32 << 10, 512 * kMiB + i * (std::uint64_t{32} << 10), 32 << 10, 0, i});
  }
  LoaderSettings cell = cell_of(Order::lba, Merge::device);
  cell.batch = 16;
  const PlannedEpoch p = must(flat, cell);
  EXPECT_LE(p.plan.horizon_peak, 4 * kMiB);
  EXPECT_GT(p.plan.horizon_peak, 3 * kMiB);
  EXPECT_GE(p.schedule.window_peak.n, p.plan.horizon_peak);
  cell.shuffle = Shuffle::buffer;
  cell.window = {Bytes{8 * kMiB}, 0};
  EXPECT_LE(must(flat, cell).schedule.window_peak.n, 8 * kMiB);
  cell.window = {Bytes{4 * kMiB}, 0};
  const Result<PlannedEpoch> refused = planned(flat, cell);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("--merge-horizon"), std::string::npos);
}

std::vector<std::uint32_t> emitted(const PlannedEpoch& p, std::uint32_t epoch) {
  const std::size_t n = p.plan.order.size() / p.plan.epochs;
  std::vector<std::uint32_t> samples;
  for (std::size_t i = epoch * n; i < (epoch + 1) * n; ++i) {
    samples.push_back(p.plan.order[p.schedule.emission[i]]);
  }
  return samples;
}

// A loop that is resumed plans the rest alone: samples would come twice or never. What a horizon
// sorted together differs from epoch to epoch where the order is drawn.
TEST(PlanCell, AnEpochIsTheSameWhicheverOthersArePlannedWithIt) {
  FlatCatalog flat("/data");
  Rng rng(1);
  std::uint64_t at = kMiB;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint64_t size = (1 + rng.below(48)) * kPageBytes;
    flat.add("f" + std::to_string(10'000 + i), size, at);
    at += size;
  }
  for (const Order order : {Order::lba, Order::chunked, Order::elevator}) {
    for (const std::uint64_t chunk : {2 * kMiB, 4 * kMiB, 1024 * kMiB}) {
      LoaderSettings cell = cell_of(order, Merge::device);
      cell.chunk = {chunk};
      cell.shuffle = Shuffle::buffer;
      cell.window = {Bytes{12 * kMiB}, 0};
      cell.epochs = 4;
      const PlannedEpoch together = must(flat, cell);
      EXPECT_LE(together.plan.horizon_peak, together.plan.horizon_most);
      cell.epochs = 1;
      for (std::uint32_t e = 0; e < 4; ++e) {
        cell.first_epoch = e;
        EXPECT_EQ(emitted(must(flat, cell), 0), emitted(together, e))
            << to_string(order) << ", chunks of " << chunk << ", epoch " << e;
      }
    }
  }
}

// Parts that share blocks: how much is shared depends on the order, and so on the epoch.
TEST(PlanCell, AnEpochOfPartsInAShareOfTheDataIsTheSame) {
  const support::SyntheticCatalog data({.files = 8,
                                        .mean_bytes = 500000,
                                        .parts_per_file = 700,
                                        .part_stride = 700,
                                        .part_bytes = 1500});
  const auto plan = [&data](const LoaderSettings& cell) {
    Source source;
    source.catalog = data.view();
    source.direct_align = kSectorBytes;
    Result<PlannedEpoch> p = plan_epoch(source, cell, 7);
    EXPECT_TRUE(p) << p.error().message();
    return p ? *std::move(p) : PlannedEpoch{};
  };
  for (const Order order : {Order::random, Order::lba, Order::chunked, Order::elevator}) {
    for (const Merge merge : {Merge::none, Merge::file, Merge::device}) {
      LoaderSettings cell = cell_of(order, merge);
      cell.chunk = {16 << 10};
      cell.shuffle = Shuffle::buffer;
      cell.window = {{}, 50};
      cell.merge_horizon = Bytes{8 << 10};
      cell.epochs = 4;
      const PlannedEpoch together = plan(cell);
      cell.epochs = 1;
      for (std::uint32_t e = 0; e < 4; ++e) {
        cell.first_epoch = e;
        EXPECT_EQ(emitted(plan(cell), 0), emitted(together, e))
            << to_string(order) << " " << to_string(merge) << ", epoch " << e;
      }
    }
  }
}

std::vector<std::uint32_t> taken_in_turns(std::size_t n, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < n; ++i) {
    places.push_back(i * ranks + rank);
  }
  return places;
}

LoaderSettings cell_of_rank(std::uint32_t rank, std::uint32_t ranks, bool by_file) {
  LoaderSettings cell = cell_of(Order::random, Merge::none);
  cell.shuffle = Shuffle::buffer;
  cell.window = {{}, 20};
  cell.epochs = 2;
  cell.part = {.rank = rank, .ranks = ranks, .by_file = by_file, .own_window = true};
  return cell;
}

// Each rank has a window of its own, and yet all know the one order that they deliver together.
TEST(PlanCell, RanksWithWindowsOfTheirOwnDeliverEachEpochOnceInTurns) {
  const FlatCatalog flat = side_by_side(60, kPageBytes);
  for (const bool by_file : {false, true}) {
    std::vector<std::uint32_t> joined(2 * 60, 0xFFFFFFFF);
    std::string hash;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const PlannedEpoch p = must(flat, cell_of_rank(rank, 3, by_file));
      ASSERT_EQ(p.places.size(), p.plan.order.size());
      for (std::size_t i = 0; i < p.places.size(); ++i) {
        joined.at(p.places[i]) = p.plan.order[p.schedule.emission[i]];
      }
      EXPECT_EQ(p.places, (taken_in_turns(p.places.size(), rank, 3)));
      EXPECT_TRUE(hash.empty() || hash == order_hash(p));
      hash = order_hash(p);
    }
    EXPECT_EQ(hash, emission_hash(joined));
    for (const auto epoch : {std::span(joined).first(60), std::span(joined).last(60)}) {
      std::ranges::sort(epoch);
      EXPECT_EQ(std::ranges::adjacent_find(epoch), epoch.end()) << "no sample twice";
    }
  }
}

TEST(PlanCell, TheRestOfAnEpochOfRanksWithWindowsOfTheirOwnIsItsEnd) {
  const FlatCatalog flat = side_by_side(60, kPageBytes);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    LoaderSettings cell = cell_of_rank(rank, 3, false);
    cell.epochs = 1;
    const PlannedEpoch whole = must(flat, cell);
    const std::vector<std::uint32_t> all = emitted(whole, 0);
    for (const std::uint32_t first : {1U, 2U, 3U, 30U}) {
      cell.part.first = first;
      const PlannedEpoch rest = must(flat, cell);
      const auto through = std::ranges::lower_bound(whole.places, first) - whole.places.begin();
      EXPECT_EQ(rest.places, std::vector(whole.places.begin() + through, whole.places.end()));
      EXPECT_EQ(emitted(rest, 0), std::vector(all.begin() + through, all.end()));
      EXPECT_EQ(order_hash(rest), order_hash(whole));
    }
  }
}

// 20 of 60 pages are a rank's, and 20 % of them its window.
TEST(PlanCell, AWindowOfARankIsItsShareOfTheMemory) {
  for (const bool by_file : {false, true}) {
    const PlannedEpoch p = must(side_by_side(60, kPageBytes), cell_of_rank(1, 3, by_file));
    EXPECT_EQ(p.window.n, 4 * kPageBytes);
  }
}

// However they share the samples, and though these have hardly a byte, or none.
TEST(PlanCell, WindowsOfAllRanksComeToTheSame) {
  for (const std::uint64_t size : {0U, 1U, 2U, 4096U}) {
    const FlatCatalog flat = side_by_side(1, size);
    std::array<double, 2> all{};  // would not wrap around
    for (const bool by_file : {false, true}) {
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        LoaderSettings cell = cell_of_rank(rank, 2, by_file);
        cell.window = {{}, 100};
        all[by_file ? 1 : 0] += static_cast<double>(must(flat, cell).window.n);
      }
    }
    EXPECT_EQ(all[0], all[1]) << size;
  }
}

// Samples differ in size, and so do ranks that take them in turns.
TEST(PlanCell, AWindowOfEverythingHoldsWhateverARankIsGiven) {
  FlatCatalog flat("/data");
  for (std::uint32_t i = 0; i < 40; ++i) {
    flat.add("f" + std::to_string(i), (i % 5 + 1) * kPageBytes, (i + 1) * 8 * kPageBytes);
  }
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    LoaderSettings cell = cell_of_rank(rank, 3, false);
    cell.shuffle = Shuffle::full;
    cell.window = {{}, 100};
    const std::uint64_t all = must(flat, cell).window.n;
    cell.shuffle = Shuffle::buffer;
    cell.window = {{}, 99};
    EXPECT_LT(must(flat, cell).window.n, all * 3 / 4) << "no reserve where samples may wait";
  }
}

}  // namespace
}  // namespace blksweep
