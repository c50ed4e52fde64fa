#include "stats/quantile.h"

#include <gtest/gtest.h>

#include <vector>

#include "stats/outliers.h"

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

// Fewer values have a greater limit: for a count between two of the table it errs to the safe side.
TEST(OutlierLimit, IsThatOfTheNextSmallerCountInTheTable) {
  std::vector<std::size_t> steps;
  for (std::size_t n = 6; n <= 200; ++n) {
    if (outlier_limit(n) != outlier_limit(n - 1)) {
      steps.push_back(n);
    }
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{6, 8, 10, 12, 15, 20, 30, 50, 100}));
  EXPECT_GT(outlier_limit(5), outlier_limit(6));
  EXPECT_EQ(outlier_limit(1000), outlier_limit(5000));
}

}  // namespace
}  // namespace blksweep
