// What a latency map says, from reads of devices whose rates are known.
#include "model/map_stats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace blksweep {
namespace {

constexpr std::int64_t kService = 1'000'000;  // of a read

// `count` reads with `depth` in flight on a device that has `servers`, from `begin` on.
void add_burst(std::uint32_t depth, std::size_t count, std::size_t servers, std::int64_t begin,
               std::vector<MapRead>& out) {
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t from = i < depth ? begin : ends[i - depth];
    const std::int64_t free = i < servers ? begin : ends[i - servers];
    ends.push_back(std::max(from, free) + kService);
    out.push_back({.begin_ns = from,
                   .latency_ns = ends.back() - from,
                   .bytes = 4096,
                   .depth = depth,
                   .part = MapPart::depth});
  }
}

// A stretch of reads side by side with two in flight: `first` until the first one ends, then one
// each `each`.
void add_stretch(std::uint64_t offset, std::size_t count, std::int64_t first, std::int64_t each,
                 std::vector<MapRead>& out) {
  const std::int64_t begin = out.empty() ? 0 : out.back().begin_ns + 1'000'000'000;
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < count; ++i) {
    ends.push_back(i == 0 ? begin + first : ends.back() + each);
    const std::int64_t from = i < 2 ? begin : ends[i - 2];
    out.push_back({.begin_ns = from,
                   .latency_ns = ends.back() - from,
                   .offset = offset + i * 65536,
                   .bytes = 65536,
                   .part = MapPart::zone});
  }
}

TEST(MapStats, DepthRatesAreThoseOfTheDeviceWithAFullQueue) {
  for (const std::size_t servers : {1U, 4U, 64U}) {
    LatencyMap map;
    std::int64_t begin = 0;
    for (const std::uint32_t depth : {1U, 2U, 8U, 32U}) {
      add_burst(depth, 10 * std::size_t{depth}, servers, begin, map.reads);
      begin += 1'000'000'000;  // at rest in between: no part of a rate
    }
    Rng rng(servers);
    shuffle(std::span(map.reads), rng);  // they may come in any order
    const auto rates = depth_rates(map);
    ASSERT_EQ(rates.size(), 4U);
    for (const DepthRate& r : rates) {
      const auto busy = static_cast<double>(std::min<std::size_t>(r.depth, servers));
      EXPECT_NEAR(r.per_s, 1000 * busy, 1e-6) << r.depth << " of " << servers;
      EXPECT_GE(r.reads, 6U * r.depth) << "most of ten per slot count";
    }
  }
}

TEST(MapStats, ABurstThatNeverFillsTheQueueHasNoRate) {
  LatencyMap map;
  add_burst(8, 16, 8, 0, map.reads);
  EXPECT_TRUE(depth_rates(map).empty());
  add_burst(8, 64, 8, 1'000'000'000'000, map.reads);
  EXPECT_EQ(depth_rates(map).size(), 1U);
}

TEST(MapStats, ZoneRatesLeaveTheBeginningOut) {
  LatencyMap map;
  map.size = 16 << 20;
  add_stretch(0, 10, 8'000'000, 100'000, map.reads);
  add_stretch(8 << 20, 10, 20'000'000, 200'000, map.reads);
  const auto zones = zone_rates(map);
  ASSERT_EQ(zones.size(), 2U);
  EXPECT_NEAR(zones[0].bytes_per_s, 65536 / 100e-6, 1);
  EXPECT_NEAR(zones[1].bytes_per_s, 65536 / 200e-6, 1);
  // The middle of what was counted: the fourth to the tenth.
  EXPECT_EQ(zones[0].offset, (3 + 10) * 65536U / 2);
  EXPECT_EQ(zones[1].offset, (8U << 20) + (3 + 10) * 65536U / 2);
}

TEST(MapStats, OfOnePlaceTheMedianStretchCounts) {
  LatencyMap map;
  map.size = std::uint64_t{1} << 30;
  for (const std::int64_t each : {100'000, 120'000, 900'000}) {
    const std::uint64_t behind = map.reads.size() * 65536 * 2;  // none continues another
    add_stretch(behind, 10, 1'000'000, each, map.reads);
  }
  add_stretch(600 << 20, 4, 1'000'000, 100'000, map.reads);
  add_stretch(700 << 20, 3, 1'000'000, 100'000, map.reads);  // too few to say anything
  const auto zones = zone_rates(map);
  ASSERT_EQ(zones.size(), 2U);
  EXPECT_EQ(zones[0].stretches, 3U);
  EXPECT_NEAR(zones[0].bytes_per_s, 65536 / 120e-6, 1);
  EXPECT_EQ(zones[1].stretches, 1U);
}

TEST(MapStats, PercentilesAreValuesThatWereMeasured) {
  LatencyMap map;
  for (const std::int64_t distance : {-4096, 8192}) {
    for (std::int64_t i = 1; i <= 100; ++i) {
      map.reads.push_back({.latency_ns = i * (distance < 0 ? 1 : 1000), .distance = distance});
    }
  }
  Rng rng(1);
  shuffle(std::span(map.reads), rng);
  const auto rows = latency_rows(map, MapPart::distance);
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& [row, unit] : {std::pair{rows[0], 1}, {rows[1], 1000}}) {
    EXPECT_EQ(row.key, unit == 1 ? -4096 : 8192);
    EXPECT_EQ(row.reads, 100U);
    EXPECT_EQ(row.p1, 1 * unit);
    EXPECT_EQ(row.p50, 50 * unit);
    EXPECT_EQ(row.p90, 90 * unit);
    EXPECT_EQ(row.p99, 99 * unit);
    EXPECT_EQ(row.longest, 100 * unit);
  }
  EXPECT_TRUE(latency_rows(map, MapPart::size).empty());
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(MapStats, ThePathIsTheMedianOfTheSmallestReadAgain) {
  LatencyMap map;
  EXPECT_FALSE(path_ns(map));
  for (const std::int64_t ns : {900, 100, 300}) {
    map.reads.push_back({.latency_ns = ns, .bytes = 4096, .part = MapPart::cached});
    map.reads.push_back({.latency_ns = 1, .bytes = 65536, .part = MapPart::cached});
    map.reads.push_back({.latency_ns = 2, .bytes = 512, .part = MapPart::size});
  }
  EXPECT_EQ(path_ns(map), 300.0);
}

}  // namespace
}  // namespace blksweep
