#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/order_sort.h"
#include "plan/plan.h"
#include "support/flat_catalog.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;

constexpr Order kOrders[] = {Order::random,   Order::path,    Order::directory,
                             Order::inode,    Order::lba,     Order::chunked,
                             Order::recorded, Order::reverse, Order::elevator};

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> v) {
  std::ranges::sort(v);
  return v;
}

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> v(n);
  std::iota(v.begin(), v.end(), 0U);
  return v;
}

std::vector<SyntheticCatalog> catalogs() {
  std::vector<SyntheticCatalog> all;
  all.emplace_back(support::SyntheticSettings{.files = 0});
  all.emplace_back(support::SyntheticSettings{.files = 1});
  all.emplace_back(support::SyntheticSettings{.files = 700, .odd = 0.3, .holes = 0.3});
  all.emplace_back(support::SyntheticSettings{.files = 9,
                                              .mean_bytes = 60000,
                                              .parts_per_file = 50,
                                              .part_stride = 1000,
                                              .part_bytes = 1000});
  return all;
}

TEST(Order, EveryEpochIsAPermutation) {
  for (const SyntheticCatalog& data : catalogs()) {
    const Catalog c = data.view();
    for (const Order order : kOrders) {
      for (const std::uint64_t window : {0U, 50000U}) {
        const auto got =
            make_order(c, {.order = order, .chunk = {30000}, .sort_window = {window}, .epochs = 3});
        ASSERT_EQ(got.size(), 3 * c.samples());
        for (std::size_t e = 0; e < 3; ++e) {
          const auto begin = got.begin() + static_cast<std::ptrdiff_t>(e * c.samples());
          EXPECT_EQ(sorted({begin, begin + static_cast<std::ptrdiff_t>(c.samples())}),
                    identity(c.samples()))
              << to_string(order);
        }
      }
    }
  }
}

TEST(Order, TheSeedDecidesAndEpochsDiffer) {
  const SyntheticCatalog data({.files = 300});
  for (const Order order : {Order::random, Order::chunked, Order::elevator}) {
    const OrderSettings settings{.order = order, .seed = 5, .chunk = {20000}, .epochs = 2};
    OrderSettings other = settings;
    other.seed = 6;
    const auto got = make_order(data.view(), settings);
    EXPECT_EQ(got, make_order(data.view(), settings));
    EXPECT_NE(got, make_order(data.view(), other));
    EXPECT_FALSE(std::equal(got.begin(), got.begin() + 300, got.begin() + 300));
  }
}

TEST(Order, SortedOrdersAscendByTheirKey) {
  const SyntheticCatalog data({.files = 2000, .odd = 0.3});
  const Catalog c = data.view();
  const auto key = [&c](Order order, std::uint32_t s) -> std::uint64_t {
    const std::uint32_t f = c.sample(s).file;
    return order == Order::path        ? f
           : order == Order::inode     ? c.files[f].inode
           : order == Order::directory ? c.files[f].directory_rank
                                       : c.first_address(s);
  };
  for (const Order order : {Order::path, Order::directory, Order::inode, Order::lba}) {
    const auto got = make_order(c, {.order = order});
    EXPECT_TRUE(std::ranges::is_sorted(got, {}, [&](std::uint32_t s) { return key(order, s); }))
        << to_string(order);
  }
}

// Two samples in a compressed extent, and one in the next, whose blocks follow the compressed ones.
TEST(Order, SamplesOfACompressedExtentLieBeforeTheNextOne) {
  support::FlatCatalog made("/x");
  made.add("shard", 256 << 10);
  made.extents = {{0, 0, 128 << 10, kExtentEncoded, 0},
                  {128 << 10, 20 << 10, 128 << 10, kExtentEncoded, 0}};
  const PartSample parts[] = {
      {0, 1000, 0, kNoLabel}, {100 << 10, 1000, 0, kNoLabel}, {128 << 10, 1000, 0, kNoLabel}};
  Catalog c = made.view();
  c.whole = {};
  c.parts = parts;
  EXPECT_EQ(make_order(c, {.order = Order::lba}), identity(3));
}

TEST(Order, ReverseIsAddressOrderBackwards) {
  const SyntheticCatalog data({.files = 700, .odd = 0.3});
  auto forward = make_order(data.view(), {.order = Order::lba});
  std::ranges::reverse(forward);
  EXPECT_EQ(make_order(data.view(), {.order = Order::reverse}), forward);
}

TEST(Order, SamplesWithoutAddressComeLastByInode) {
  const SyntheticCatalog data({.files = 500, .odd = 0.5});
  const Catalog c = data.view();
  auto got = make_order(c, {.order = Order::lba});
  const auto unknown = std::ranges::find(got, ~std::uint64_t{0},
                                         [&c](std::uint32_t s) { return c.first_address(s); });
  ASSERT_NE(unknown, got.end());
  EXPECT_TRUE(std::is_sorted(unknown, got.end(), [&c](std::uint32_t a, std::uint32_t b) {
    return std::pair(c.files[c.sample(a).file].inode, a) <
           std::pair(c.files[c.sample(b).file].inode, b);
  }));
}

TEST(Order, PartsFollowTheirFileOffsets) {
  const SyntheticCatalog data({.files = 20,
                               .mean_bytes = 60000,
                               .parts_per_file = 40,
                               .part_stride = 1024,
                               .part_bytes = 900});
  EXPECT_EQ(make_order(data.view(), {.order = Order::path}), identity(data.view().samples()));
}

TEST(Order, ChunksAreRunsOfTheLbaOrder) {
  const SyntheticCatalog data({.files = 400});
  const Catalog c = data.view();
  const auto lba = make_order(c, {.order = Order::lba});
  const auto got = make_order(c, {.order = Order::chunked, .chunk = {40000}});
  std::vector<std::uint32_t> rank(lba.size());
  for (std::uint32_t i = 0; i < lba.size(); ++i) {
    rank[lba[i]] = i;
  }
  std::size_t jumps = 0;
  for (std::size_t i = 1; i < got.size(); ++i) {
    jumps += rank[got[i]] != rank[got[i - 1]] + 1 ? 1U : 0U;
  }
  const std::size_t chunks = c.bytes().n / 40000 + 1;
  EXPECT_GT(jumps, chunks / 3);
  EXPECT_LE(jumps, chunks);
}

// Two samples are enough, or a byte too short: then a third one fills the chunk, of the first as
// of all others.
TEST(Order, AChunkEndsWithTheSampleThatFillsIt) {
  support::FlatCatalog flat("/data");
  for (std::uint64_t i = 0; i < 30; ++i) {
    flat.add("f" + std::to_string(i), 4096, i * 8192);
  }
  for (const std::uint64_t chunk : {8192U, 8193U}) {
    const std::size_t samples = chunk == 8192 ? 2 : 3;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto got =
          make_order(flat.view(), {.order = Order::chunked, .seed = seed, .chunk = {chunk}});
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i] % samples, i % samples) << "seed " << seed;
      }
    }
  }
}

TEST(Order, SortWindowSortsRunsOfARandomOrder) {
  const SyntheticCatalog data({.files = 400});
  const Catalog c = data.view();
  const auto got = make_order(c, {.order = Order::random, .sort_window = {64000}});
  const auto plain = make_order(c, {.order = Order::random});
  std::size_t begin = 0;
  while (begin < plain.size()) {
    std::uint64_t bytes = 0;
    std::size_t end = begin;
    while (end < plain.size() && bytes < 64000) {
      bytes += c.sample(plain[end++]).length;
    }
    const auto at = [](const auto& v, std::size_t i) {
      return v.begin() + static_cast<std::ptrdiff_t>(i);
    };
    EXPECT_EQ(std::set(at(got, begin), at(got, end)), std::set(at(plain, begin), at(plain, end)));
    EXPECT_TRUE(std::is_sorted(at(got, begin), at(got, end), [&c](auto a, auto b) {
      return c.first_address(a) < c.first_address(b);
    }));
    begin = end;
  }
}

TEST(SortKeys, AgreesWithAStableComparisonSort) {
  Rng rng(3);
  std::vector<SortKey> scratch;
  for (const std::uint32_t n : {0U, 1U, 2U, 32U, 255U, 5000U}) {
    for (const unsigned bits : {1U, 9U, 40U, 64U}) {
      std::vector<SortKey> keys;
      for (std::uint32_t i = 0; i < n; ++i) {
        keys.push_back({rng.next() >> (64 - bits), i, 0});
      }
      auto expected = keys;
      std::ranges::stable_sort(expected, {}, &SortKey::key);
      sort_keys(keys, scratch);
      for (std::uint32_t i = 0; i < n; ++i) {
        ASSERT_EQ(keys[i].index, expected[i].index);
      }
    }
  }
}

}  // namespace
}  // namespace blksweep
