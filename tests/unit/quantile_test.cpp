#include "stats/quantile.h"

#include <gtest/gtest.h>

#include <vector>

namespace blksweep {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(median(Values{5}), 5);
  EXPECT_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_EQ(median(Values{4, 1, 2, 9}), 3);
}

TEST(Quantile, LiesBetweenNeighboursLinearly) {
  EXPECT_EQ(quantile(Values{1, 3}, 0), 1);
  EXPECT_EQ(quantile(Values{1, 3}, 0.25), 1.5);
  EXPECT_EQ(quantile(Values{1, 3}, 1), 3);
}

}  // namespace
}  // namespace blksweep
