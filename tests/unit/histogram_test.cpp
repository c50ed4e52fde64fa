#include "stats/histogram.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace blksweep {
namespace {

TEST(LogHistogram, ValueLiesInItsBucketAndTheBucketIsNarrow) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t v = rng.next() >> rng.below(64);
    const std::size_t b = LogHistogram::index_of(v);
    const std::uint64_t low = LogHistogram::lower_bound(b);
    ASSERT_LE(low, v);
    ASSERT_LE(v - low, low / 64);
    ASSERT_EQ(LogHistogram::index_of(low), b);
  }
}

TEST(LogHistogram, SmallValuesAreExact) {
  LogHistogram h;
  h.add(0);
  h.add(127, 3);
  EXPECT_EQ(h.buckets(), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1}, {127, 3}}));
}

TEST(LogHistogram, HoldsTheLargestValue) {
  LogHistogram h;
  h.add(~std::uint64_t{0});
  EXPECT_EQ(h.buckets().size(), 1U);
}

}  // namespace
}  // namespace blksweep
