#include "stats/intervals.h"

#include <gtest/gtest.h>

#include <bitset>

#include "base/rng.h"

namespace blksweep {
namespace {

constexpr int kInstants = 64;
using Instants = std::bitset<kInstants>;

IntervalSet random_set(Rng& rng, Instants& covered) {
  std::vector<TimeSpan> spans;
  for (std::uint64_t n = rng.below(9); n > 0; --n) {
    const auto begin = static_cast<std::int64_t>(rng.below(kInstants));
    const auto end = static_cast<std::int64_t>(rng.below(kInstants + 1));
    spans.push_back({begin, end});  // every second one the wrong way round: no instants
    for (std::int64_t t = begin; t < end; ++t) {
      covered.set(static_cast<std::size_t>(t));
    }
  }
  return IntervalSet(std::move(spans));
}

Instants instants_of(const IntervalSet& set) {
  Instants out;
  for (std::int64_t t = 0; t < kInstants; ++t) {
    out.set(static_cast<std::size_t>(t), set.contains(t));
  }
  return out;
}

bool is_normal(const IntervalSet& set) {
  std::int64_t before = -1;
  for (const TimeSpan& s : set.spans()) {
    if (s.begin <= before || s.end <= s.begin) {
      return false;
    }
    before = s.end;
  }
  return true;
}

TEST(Intervals, AgreeWithSetsOfInstants) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    Instants x, y;
    const IntervalSet a = random_set(rng, x), b = random_set(rng, y);
    const IntervalSet both = intersect(a, b), either = unite(a, b), only = subtract(a, b);
    ASSERT_EQ(instants_of(a), x) << "seed " << seed;
    ASSERT_EQ(instants_of(both), x & y) << "seed " << seed;
    ASSERT_EQ(instants_of(either), x | y) << "seed " << seed;
    ASSERT_EQ(instants_of(only), x & ~y) << "seed " << seed;
    for (const IntervalSet* set : {&a, &both, &either, &only}) {
      ASSERT_TRUE(is_normal(*set)) << "seed " << seed;
      ASSERT_EQ(set->measure(), static_cast<std::int64_t>(instants_of(*set).count()));
    }
    ASSERT_EQ(a.measure() + b.measure(), both.measure() + either.measure());
    const TimeSpan window{static_cast<std::int64_t>(rng.below(kInstants)),
                          static_cast<std::int64_t>(rng.below(kInstants))};
    ASSERT_EQ(a.measure_in(window), intersect(a, IntervalSet({window})).measure());
  }
}

TEST(Intervals, ThatTouchBecomeOne) {
  const IntervalSet set({{5, 9}, {1, 3}, {3, 5}, {7, 7}, {20, 10}});
  EXPECT_EQ(set, IntervalSet({{1, 9}}));
  EXPECT_EQ(set.measure(), 8);
  EXPECT_FALSE(set.contains(9));
  EXPECT_TRUE(set.contains(1));
}

TEST(Intervals, OfNothingAreEmpty) {
  const IntervalSet none;
  const IntervalSet some({{1, 2}});
  EXPECT_EQ(none.measure(), 0);
  EXPECT_EQ(unite(none, some), some);
  EXPECT_EQ(intersect(none, some), none);
  EXPECT_EQ(subtract(some, none), some);
  EXPECT_EQ(subtract(none, some), none);
}

}  // namespace
}  // namespace blksweep
