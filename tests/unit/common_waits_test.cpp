// When a reader that is several workers waits for memory: never while one of them reads.
#include "loader/common_waits.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace blksweep {
namespace {

TEST(CommonWaits, OfOneWorkerAreItsOwn) {
  const std::vector<MemoryWait> own{{{10, 20}, 1}, {{30, 50}, 2}};
  EXPECT_EQ(common_waits({{WorkerWaits{own, 60}}}), own);
}

TEST(CommonWaits, AreWhereAllWait) {
  const WorkerWaits a{{{{10, 40}, 1}}, 100}, b{{{{20, 60}, 2}}, 100};
  EXPECT_EQ(common_waits(std::array{a, b}), (std::vector<MemoryWait>{{{20, 40}, 1}}));
}

TEST(CommonWaits, AWorkerThatHasEndedReadsNoMore) {
  const WorkerWaits a{{}, 15}, b{{{{10, 60}, 2}}, 100};
  EXPECT_EQ(common_waits(std::array{a, b}), (std::vector<MemoryWait>{{{15, 60}, 2}}));
  EXPECT_TRUE(common_waits(std::array{WorkerWaits{{}, 5}, WorkerWaits{{}, 9}}).empty());
}

// Against every instant looked at on its own.
TEST(CommonWaits, AgreeWithEveryInstant) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<WorkerWaits> workers(1 + rng.below(4));
    for (WorkerWaits& w : workers) {
      std::int64_t at = 0;
      for (std::uint32_t n = 1; n <= rng.below(6); ++n) {
        const std::int64_t begin = at + static_cast<std::int64_t>(rng.below(5));
        at = begin + static_cast<std::int64_t>(rng.below(6));
        w.waits.push_back({{begin, at}, n + static_cast<std::uint32_t>(rng.below(2))});
      }
      w.ended = at + static_cast<std::int64_t>(rng.below(4));
    }
    const std::vector<MemoryWait> got = common_waits(workers);
    for (std::int64_t t = 0; t < 80; ++t) {
      std::uint32_t least = ~0U;
      bool reads = false;
      for (const WorkerWaits& w : workers) {
        const auto wait = std::ranges::find_if(
            w.waits, [t](const MemoryWait& m) { return m.span.begin <= t && t < m.span.end; });
        reads = reads || (wait == w.waits.end() && t < w.ended);
        least = wait != w.waits.end() ? std::min(least, wait->consumed_batches) : least;
      }
      const auto found = std::ranges::find_if(
          got, [t](const MemoryWait& m) { return m.span.begin <= t && t < m.span.end; });
      const bool waits = !reads && least != ~0U;
      ASSERT_EQ(found != got.end(), waits) << "round " << round << " at " << t;
      ASSERT_TRUE(!waits || found->consumed_batches == least);
    }
  }
}

}  // namespace
}  // namespace blksweep
