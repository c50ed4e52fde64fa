#include "store/summary/ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace blksweep {
namespace {

std::vector<CeilingRecord> sequential_at(std::uint32_t depth, const std::vector<double>& rates) {
  std::vector<CeilingRecord> rounds;
  for (const double rate : rates) {
    CeilingRecord c;
    c.round = static_cast<std::uint32_t>(rounds.size());
    c.kind = "sequential";
    c.depth = depth;
    c.bytes_per_s = rate;
    rounds.push_back(c);
  }
  return rounds;
}

// A disk may be faster with few reads in flight than with many; one good round does not make it so.
TEST(Ceilings, AreThoseOfTheDepthWithTheGreatestMedian) {
  std::vector<CeilingRecord> all = sequential_at(32, {90e6, 100e6, 900e6});
  std::ranges::move(sequential_at(4, {110e6, 120e6, 130e6}), std::back_inserter(all));
  for (int i = 0; i < 2; ++i, std::ranges::reverse(all)) {
    const std::vector<CeilingFigure> figures = ceiling_figures(all);
    ASSERT_EQ(figures.size(), 1U);
    EXPECT_EQ(figures[0].depth, 4U);
    EXPECT_EQ(figures[0].rounds, 3U);
    EXPECT_EQ(figures[0].median, 120e6);
    EXPECT_EQ(figures[0].greatest, 130e6);
  }
}

// Of data the bytes of samples that a byte read stands for; nothing is a share of nothing.
TEST(Ceilings, OfSequentialReadsAreInBytesOfSamples) {
  std::vector<CeilingRecord> all = sequential_at(32, {100e6});
  EXPECT_EQ(sequential_ceiling(all), std::nullopt);
  all.front().samples_per_byte = 0.5;
  EXPECT_EQ(sequential_ceiling(all), 50e6);
  all.front().bytes_per_s = 0;
  EXPECT_EQ(sequential_ceiling(all), std::nullopt);
  EXPECT_EQ(sequential_ceiling({}), std::nullopt);
}

}  // namespace
}  // namespace blksweep
