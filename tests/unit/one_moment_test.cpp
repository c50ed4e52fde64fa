// Steps between which something happened are gone through again.
#include "probe/one_moment.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/result.h"

namespace blksweep {
namespace {

// Reads that are so far off, one after the other, and say which they are.
struct Tries {
  std::vector<std::int64_t> off;
  std::size_t fails_at = ~std::size_t{0};
  std::size_t reads = 0;

  Result<std::size_t> run(std::int64_t enough) {
    return of_one_moment(
        [this](std::int64_t& by) -> Result<std::size_t> {
          by = off.at(reads % off.size());
          if (reads++ == fails_at) {
            return fail("no");
          }
          return reads;
        },
        enough);
  }
};

TEST(OneMoment, TheFirstThatIsGoodEnoughIsTaken) {
  Tries tries{.off = {5, 90, 4, 1}};
  EXPECT_EQ(tries.run(5).value_or(0), 1U);
  EXPECT_EQ(tries.reads, 1U);
  Tries later{.off = {6, 90, 5, 1}};
  EXPECT_EQ(later.run(5).value_or(0), 3U);
  EXPECT_EQ(later.reads, 3U);
}

TEST(OneMoment, WhereNoneIsTheBestIs) {
  Tries tries{.off = {60, 30, 40, 70}};
  EXPECT_EQ(tries.run(5).value_or(0), 2U);
  EXPECT_EQ(tries.reads, std::size_t{kMomentTries});
}

TEST(OneMoment, AnErrorIsTheAnswer) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{2}}) {
    Tries tries{.off = {50}, .fails_at = at};
    EXPECT_FALSE(tries.run(5));
    EXPECT_EQ(tries.reads, at + 1);
  }
}

}  // namespace
}  // namespace blksweep
