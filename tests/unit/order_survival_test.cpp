#include "stats/order_survival.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kBlock = 4096;

// Read r is block r of the disk.
std::vector<PlannedPlace> blocks(std::uint32_t n) {
  std::vector<PlannedPlace> out;
  for (std::uint32_t r = 0; r < n; ++r) {
    out.push_back({r * kBlock, (r + 1) * kBlock, r});
  }
  return out;
}

// Requests of `width` blocks from each of `firsts` on.
std::vector<SeenRequest> requests(const std::vector<std::uint32_t>& firsts,
                                  std::uint32_t width = 1) {
  std::vector<SeenRequest> out;
  for (const std::uint32_t f : firsts) {
    out.push_back({f * kBlock, (f + width) * kBlock});
  }
  return out;
}

std::vector<std::uint32_t> counting(std::uint32_t n, std::uint32_t step = 1) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < n; i += step) {
    out.push_back(i);
  }
  return out;
}

std::optional<OrderSurvival> survival(const std::vector<PlannedPlace>& places,
                                      const std::vector<SeenRequest>& seen, std::size_t window,
                                      const std::vector<std::uint32_t>& submissions = {}) {
  return order_survival({places, window, submissions}, seen);
}

void reverse_batches(std::vector<std::uint32_t>& order, std::size_t batch) {
  for (std::size_t i = 0; i < order.size(); i += batch) {
    std::ranges::reverse(std::span(order).subspan(i, std::min(batch, order.size() - i)));
  }
}

TEST(OrderSurvival, TheSameOrderKeepsAll) {
  const auto found = survival(blocks(100), requests(counting(100)), 32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reads, 100U);
  EXPECT_EQ(found->kept, 1.0);
  EXPECT_EQ(found->tau, 1.0);
  EXPECT_EQ(found->reversed, 0.0);
  EXPECT_FALSE(found->reversed_run);
  EXPECT_EQ(found->displaced_max, 0U);
  EXPECT_EQ(order_sentence(*found, "the driver"),
            "the order reached the driver: 100.0 % of neighbours kept, tau 1.00");
}

// 96 reads, 3 batches of 32: the 95 pairs of neighbours lose 31 in each batch, 2 are kept between
// them. Windows are the batches. In a batch a read moves by 31, 29 ... 1, each distance twice.
TEST(OrderSurvival, ReversedBatchesAreCalledReversed) {
  std::vector<std::uint32_t> order = counting(96);
  reverse_batches(order, 32);
  const auto found = survival(blocks(96), requests(order), 32);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->kept, 2.0 / 95);
  EXPECT_EQ(found->tau, -1.0);
  EXPECT_EQ(found->reversed, 1.0);
  EXPECT_EQ(found->reversed_run, 32U);
  EXPECT_EQ(found->displaced_p50, 15U);
  EXPECT_EQ(found->displaced_p99, 31U);
  EXPECT_EQ(found->displaced_max, 31U);
  EXPECT_EQ(order_sentence(*found, "the driver"),
            "reversed in every batch before the driver: 100.0 % of the reads, in runs of 32 "
            "requests (median)");
  EXPECT_EQ(found->inversions, 3U * (32 * 31 / 2));
  EXPECT_FALSE(found->batches);  // where submissions began was not said
}

// Two requests turned round are what any queue does: below the least chain.
TEST(OrderSurvival, PairsTurnedRoundAreNoReversal) {
  std::vector<std::uint32_t> order = counting(64);
  reverse_batches(order, 2);
  const auto found = survival(blocks(64), requests(order), 4);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->kept, 31.0 / 63);
  EXPECT_DOUBLE_EQ(found->tau, 1 - 2 * 2.0 / 6);  // of 6 pairs in a window, 2 are wrong
  EXPECT_EQ(found->reversed, 0.0);
  EXPECT_EQ(found->displaced_max, 1U);
}

// Of 4 submissions of 8 reads, the second and the third came out backwards.
TEST(OrderSurvival, SubmissionsThatCameOutReversedAreCounted) {
  std::vector<std::uint32_t> order = counting(32);
  reverse_batches(order, 8);
  std::ranges::reverse(std::span(order).first(8));
  std::ranges::reverse(std::span(order).last(8));
  const auto found = survival(blocks(32), requests(order), 8, {0, 8, 16, 24});
  ASSERT_TRUE(found && found->batches);
  EXPECT_EQ(found->batches->batches, 4U);
  EXPECT_EQ(found->batches->reversed, 2U);
  EXPECT_EQ(found->inversions, 2U * (8 * 7 / 2));
  EXPECT_DOUBLE_EQ(found->reversed, 0.5);
  EXPECT_EQ(order_sentence(*found, "the driver"),
            "reversed before the driver: 50.0 % of the reads, in runs of 8 requests (median); 2 of "
            "4 submissions came out reversed");
}

// Of 11 reads, 10 pairs of neighbours, 9 of which are exchanged; and 8 of them.
TEST(OrderSurvival, ASubmissionIsReversedFromNineTenthsOfItsNeighboursOn) {
  const auto reversed = [](const std::vector<std::uint32_t>& order) {
    const auto n = static_cast<std::uint32_t>(order.size());
    const auto found = survival(blocks(n), requests(order), 8, {0});
    return found && found->batches ? found->batches->reversed : 9;
  };
  EXPECT_EQ(reversed({10, 9, 8, 7, 6, 5, 4, 3, 2, 0, 1}), 1U);
  EXPECT_EQ(reversed({10, 9, 8, 7, 6, 5, 4, 2, 3, 0, 1}), 0U);
  EXPECT_EQ(reversed({2, 1, 0}), 1U) << "3 requests are enough";
}

// What a submission's merges left of it is fewer than 3 requests: it cannot be called reversed.
TEST(OrderSurvival, MergedAwaySubmissionsAreNoBatches) {
  const auto found = survival(blocks(32), requests({8, 0, 16, 24}, 8), 16, {0, 16});
  ASSERT_TRUE(found && found->batches);
  EXPECT_EQ(found->batches->batches, 0U);
}

// 1 and 6 are exchanged: of the 7 neighbours (1,2) and (5,6) are lost. Exchanged are the pairs of 1
// with 2, 3, 4, 5, 6 and those of 6 with 2, 3, 4, 5: 9 of 28. Two reads moved, by 5 places.
TEST(OrderSurvival, OneSwapIsCountedByHand) {
  const auto found = survival(blocks(8), requests({0, 6, 2, 3, 4, 5, 1, 7}), 8);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->kept, 5.0 / 7);
  EXPECT_EQ(found->inversions, 9U);
  EXPECT_DOUBLE_EQ(found->tau, 1 - 2 * 9.0 / 28);
  EXPECT_EQ(found->displaced_max, 5U);
  EXPECT_EQ(found->displaced,
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 6}, {5, 2}}));
}

// In order at the block layer, and turned round below it: the plug did it, and the sentence says
// so.
TEST(OrderSurvival, TheLayerThatTurnedItRoundIsNamed) {
  std::vector<std::uint32_t> order = counting(64);
  const auto queued = survival(blocks(64), requests(order), 32);
  reverse_batches(order, 32);
  const auto issued = survival(blocks(64), requests(order), 32);
  const std::vector<std::pair<std::string, OrderSurvival>> layers{{"queue", *queued},
                                                                  {"issue", *issued}};
  const auto verdicts = order_verdicts(layers);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].text,
            "the order reached the block layer: 100.0 % of neighbours kept, tau 1.00");
  EXPECT_EQ(verdicts[1].text.find("reversed in every plug batch before the driver"), 0U);
  const std::vector<std::pair<std::string, OrderSurvival>> both{{"queue", *issued},
                                                                {"issue", *issued}};
  EXPECT_EQ(order_verdicts(both)[1].text.find("reversed in every batch before the driver"), 0U);
  const std::vector<std::pair<std::string, OrderSurvival>> sorted{{"insert", *queued},
                                                                  {"issue", *issued}};
  EXPECT_EQ(order_verdicts(sorted)[1].text.find("reversed in every batch of the scheduler before"),
            0U);
}

TEST(OrderSurvival, MergedNeighboursKeepTheirOrder) {
  const auto found = survival(blocks(64), requests(counting(64, 4), 4), 32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reads, 64U);
  EXPECT_EQ(found->kept, 1.0);
  EXPECT_EQ(found->displaced_max, 0U);
}

// Merged into fours, and those came out backwards: as the plug list did it (Linux 5.17 to 6.12).
TEST(OrderSurvival, MergedRequestsAreReversedAsTheyAre) {
  std::vector<std::uint32_t> firsts = counting(64, 4);
  reverse_batches(firsts, 8);
  const auto found = survival(blocks(64), requests(firsts, 4), 32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reversed, 1.0);
  EXPECT_EQ(found->reversed_run, 8U);
  EXPECT_DOUBLE_EQ(found->kept, 49.0 / 63);  // 7 seams in each of 2 batches are lost
}

// A batch that was submitted backwards is one request after its merges: nothing overtook.
TEST(OrderSurvival, AMergeBreaksNoOrder) {
  std::vector<PlannedPlace> places = blocks(16);
  for (PlannedPlace& p : places) {
    p.read = 15 - p.read;
  }
  const auto found = survival(places, requests({8, 0}, 8), 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kept, 1.0);
  EXPECT_EQ(found->tau, 1.0);
  EXPECT_EQ(found->displaced_max, 0U);
  const auto turned = survival(places, requests({0, 8}, 8), 16);
  ASSERT_TRUE(turned);
  EXPECT_DOUBLE_EQ(turned->kept, 14.0 / 15);          // the seam
  EXPECT_DOUBLE_EQ(turned->tau, 1 - 2 * 64.0 / 120);  // 8 x 8 of 16 x 15 / 2 pairs
  EXPECT_EQ(turned->displaced_p50, 8U);
}

// 0, 50, 1, 51 ...: within each half the order is kept; the halves meet in one lost pair.
TEST(OrderSurvival, TwoQueuesInterleavedKeepAllButTheSeam) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 50; ++i) {
    order.insert(order.end(), {i, i + 50});
  }
  const auto found = survival(blocks(100), requests(order), 50);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->kept, 98.0 / 99);
  EXPECT_EQ(found->tau, 1.0);
  EXPECT_EQ(found->displaced_max, 49U);
}

// By address lie the plan's reads 1, 3, 0, 2, and the scheduler issues them so. Of the 6 pairs 0
// and 1, 0 and 3, 2 and 3 are turned round; of the neighbours 0 and 1, 2 and 3.
TEST(OrderSurvival, ASchedulerThatSortsARandomPlan) {
  const std::vector<PlannedPlace> places{
      {0, 4096, 1}, {4096, 8192, 3}, {8192, 12288, 0}, {12288, 16384, 2}};
  const auto found = survival(places, requests({0, 1, 2, 3}), 4);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->kept, 1.0 / 3);
  EXPECT_DOUBLE_EQ(found->tau, 0.0);
  EXPECT_EQ(order_sentence(*found, "the driver"),
            "the order did not reach the driver: 33.3 % of neighbours kept, tau 0.00");
}

TEST(OrderSurvival, UnseenReadsStrangersAndSplitsChangeNothing) {
  std::vector<SeenRequest> seen;
  for (const std::uint32_t r : {1U, 3U, 5U, 7U}) {
    seen.push_back({(1000 + r) * kBlock, (1001 + r) * kBlock});  // of nobody
    seen.push_back({r * kBlock, r * kBlock + 512});              // split
    seen.push_back({r * kBlock + 512, (r + 1) * kBlock});        // its other part
  }
  const auto found = survival(blocks(10), seen, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reads, 4U);
  EXPECT_EQ(found->kept, 1.0);
  EXPECT_EQ(found->displaced_max, 0U);
  EXPECT_FALSE(survival(blocks(10), requests({3}), 4));
  EXPECT_FALSE(survival({}, seen, 4));
}

// Against all pairs counted one by one.
TEST(OrderSurvival, AgreesWithBruteForce) {
  Rng rng(16);
  for (std::uint32_t n = 2; n < 60; ++n) {
    const std::size_t window = 2 + n % 9;
    std::vector<std::uint32_t> order = counting(n);
    shuffle(std::span(order), rng);
    std::vector<std::uint32_t> at(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      at[order[i]] = i;
    }
    double score = 0, pairs = 0, kept = 0, moved = 0;
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = a + 1; b < n && b / window == a / window; ++b) {
        score += at[a] < at[b] ? 1 : -1;
        pairs += 1;
      }
      kept += a + 1 < n && at[a] < at[a + 1] ? 1 : 0;
      moved = std::max(moved, std::abs(static_cast<double>(at[a]) - a));
    }
    const auto found = survival(blocks(n), requests(order), window);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->tau, score / pairs, 1e-12) << n;
    EXPECT_DOUBLE_EQ(found->kept, kept / (n - 1)) << n;
    EXPECT_EQ(static_cast<double>(found->displaced_max), moved) << n;
  }
}

}  // namespace
}  // namespace blksweep
