// The overlap of transfers and kernels, against one that asks at every single nanosecond.
#include "stats/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

struct Timeline {
  TimeSpan epoch;
  std::vector<TransferSlice> transfers;
  std::vector<KernelSpan> kernels;

  Overlap overlap() const {
    return overlap_of({.epoch = epoch, .transfers = transfers, .kernels = kernels});
  }
};

// Of one batch after the other: `copy` long copies back to back on one lane, kernels behind their
// arrival and the kernel before.
Timeline pipeline(std::uint32_t batches, std::int64_t copy, std::int64_t kernel) {
  Timeline t;
  std::int64_t link = 0, busy = 0;
  for (std::uint32_t b = 0; b < batches; ++b) {
    t.transfers.push_back({{link, link + copy}, b, 0, 1'000'000});
    link += copy;
    const std::int64_t begin = std::max(link, busy);
    t.kernels.push_back({{begin, begin + kernel}, b, kernel});
    busy = begin + kernel;
  }
  t.epoch = {0, busy};
  return t;
}

// Copies of 3 ms and kernels of 10 ms: all but the first copy is hidden.
TEST(Overlap, OfAComputeBoundEpochIsKnown) {
  const Overlap o = pipeline(100, 3'000'000, 10'000'000).overlap();
  EXPECT_EQ(o.wall, 3'000'000 + 100 * 10'000'000LL);
  EXPECT_EQ(o.transfer, 300'000'000);
  EXPECT_EQ(o.kernel, 1'000'000'000);
  EXPECT_EQ(o.exposed, 3'000'000);
  EXPECT_EQ(o.both, 297'000'000);
  EXPECT_EQ(o.idle, 0);
  EXPECT_EQ(o.bytes, 100'000'000U);
  EXPECT_EQ(o.hidden_bytes, 99'000'000U);
  EXPECT_EQ(o.asked, o.kernel);
  EXPECT_EQ(o.fed, 99U);
  EXPECT_EQ(o.fed_gap, 0);
  EXPECT_DOUBLE_EQ(o.hidden_share().value(), 0.99);
  EXPECT_DOUBLE_EQ(o.exposed_share().value(), 3.0 / 1003);
  EXPECT_DOUBLE_EQ(o.utilisation().value(), 1000.0 / 1003);
  EXPECT_DOUBLE_EQ(o.bytes_per_s().value(), 100e6 / 0.3);
}

TEST(Overlap, OfACopyBoundEpochIsKnown) {
  const Overlap o = pipeline(50, 10'000'000, 4'000'000).overlap();
  EXPECT_EQ(o.transfer, 500'000'000);
  EXPECT_EQ(o.both, 49 * 4'000'000LL) << "the last kernel has no copy beside it";
  EXPECT_EQ(o.fed, 0U) << "every kernel waits for its data";
  EXPECT_EQ(o.idle, 0);
}

// Pauses between the pieces of one copy are nobody's transfer, and no bandwidth.
TEST(Overlap, CountsPiecesAndNotTheSpanOfACopy) {
  Timeline t;
  t.epoch = {0, 1'000};
  t.transfers = {{{100, 200}, 0, 0, 50}, {{700, 800}, 0, 0, 50}};
  t.kernels = {{{150, 700}, 0, 550}};
  const Overlap o = t.overlap();
  EXPECT_EQ(o.transfer, 200);
  EXPECT_EQ(o.both, 50);
  EXPECT_EQ(o.hidden_bytes, 25U);
  EXPECT_DOUBLE_EQ(o.bytes_per_s().value(), 100 / 200e-9);
}

// Data that are there and a kernel that is not begun: what the host's hand costs.
TEST(Overlap, AGapCountsWhereTheDataWereThere) {
  Timeline t;
  t.epoch = {0, 1'000};
  t.transfers = {
      {{0, 10}, 0, 0, 1}, {{10, 20}, 1, 0, 1}, {{20, 30}, 2, 0, 1}, {{500, 600}, 3, 0, 1}};
  t.kernels = {{{15, 100}, 0, 85}, {{105, 200}, 1, 95}, {{203, 300}, 2, 97}, {{650, 700}, 3, 50}};
  const Overlap o = t.overlap();
  EXPECT_EQ(o.fed, 2U);
  EXPECT_EQ(o.fed_gap, 5 + 3);
  EXPECT_EQ(o.fed_gap_most, 5);
}

TEST(Overlap, OfNothingIsUnknown) {
  const Overlap o = overlap_of({.epoch = {5, 5}});
  EXPECT_EQ(o.hidden_share(), std::nullopt);
  EXPECT_EQ(o.exposed_share(), std::nullopt);
  EXPECT_EQ(o.utilisation(), std::nullopt);
  EXPECT_EQ(o.bytes_per_s(), std::nullopt);
}

Timeline random_timeline(Rng& rng) {
  const auto number = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(rng.below(below));
  };
  Timeline t;
  t.epoch = {number(40), 60 + number(100)};
  for (std::uint32_t b = 0; b < rng.below(12); ++b) {
    for (std::uint64_t piece = 0; piece <= rng.below(4); ++piece) {
      const std::int64_t begin = number(150);
      t.transfers.push_back({{begin, begin + number(20)},
                             b,
                             static_cast<std::uint32_t>(rng.below(3)),
                             rng.below(1000)});
    }
    const std::int64_t begin = number(150);
    t.kernels.push_back({{begin, begin + number(30)}, b, 10});
  }
  return t;
}

template <class Spans>
bool any_at(const Spans& spans, std::int64_t t) {
  return std::ranges::any_of(spans, [&](const TimeSpan& s) { return s.begin <= t && t < s.end; });
}

TEST(Overlap, OfRandomTimelinesIsThatOfEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    const Timeline t = random_timeline(rng);
    std::int64_t transfer = 0, kernel = 0, both = 0, neither = 0;
    for (std::int64_t at = t.epoch.begin; at < t.epoch.end; ++at) {
      const bool moves = any_at(t.transfers, at), runs = any_at(t.kernels, at);
      transfer += moves ? 1 : 0;
      kernel += runs ? 1 : 0;
      both += moves && runs ? 1 : 0;
      neither += moves || runs ? 0 : 1;
    }
    const Overlap o = t.overlap();
    ASSERT_EQ(o.transfer, transfer) << "seed " << seed;
    ASSERT_EQ(o.kernel, kernel) << "seed " << seed;
    ASSERT_EQ(o.both, both) << "seed " << seed;
    ASSERT_EQ(o.exposed, transfer - both) << "seed " << seed;
    ASSERT_EQ(o.idle, neither) << "seed " << seed;
    ASSERT_EQ(o.wall, o.transfer + o.kernel - o.both + o.idle) << "seed " << seed;
    ASSERT_LE(o.hidden_bytes, o.bytes) << "seed " << seed;
  }
}

// Every byte of a slice moves in a nanosecond of its own.
TEST(Overlap, HiddenBytesAreThoseThatMovedWhileAKernelRan) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    Timeline t = random_timeline(rng);
    t.epoch = {0, 1'000};
    std::uint64_t hidden = 0;
    for (TransferSlice& s : t.transfers) {
      s.bytes = static_cast<std::uint64_t>(s.length());
      for (std::int64_t at = s.begin; at < s.end; ++at) {
        hidden += any_at(t.kernels, at) ? 1 : 0;
      }
    }
    ASSERT_EQ(t.overlap().hidden_bytes, hidden) << "seed " << seed;
  }
}

}  // namespace
}  // namespace blksweep
