#include "store/summary/request_notes.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

StoredRun run_that_read(std::uint64_t samples, std::uint64_t read_ahead) {
  StoredRun run;
  run.run.probe.emplace().attribution =
      AttributionRecord{.classes = {{"samples", 1, samples},
                                    {"read_ahead", 1, read_ahead},
                                    {"other", std::nullopt, std::nullopt},
                                    {"writes", 5, 1'000'000}},
                        .paths = {},
                        .extents = {},
                        .latency = {}};
  return run;
}

TEST(RequestNotes, SayWhatTheDiskReadInTheMedianRun) {
  const StoredRun a = run_that_read(900, 100), b = run_that_read(500, 500),
                  c = run_that_read(800, 200);
  StoredRun unknown;
  unknown.run.probe.emplace();
  const auto shares = read_for({&a, &b, &unknown, &c});
  ASSERT_EQ(shares.size(), 2U);  // what is no read has no share, and what is not known none
  EXPECT_EQ(shares[0].first, "samples");
  EXPECT_DOUBLE_EQ(shares[0].second, 0.8);
  EXPECT_DOUBLE_EQ(shares[1].second, 0.2);
  EXPECT_TRUE(read_for({&unknown}).empty());
}

StoredRun run_with_hits(Maybe<double> hits, std::uint64_t unwanted) {
  StoredRun run;
  CacheRecord& cache = run.run.page_cache.emplace();
  cache.hit_share = hits;
  cache.unwanted_bytes = unwanted;
  cache.again_bytes = 4096;
  return run;
}

TEST(RequestNotes, SayWhatBecameOfThePageCacheInTheMedianRun) {
  const StoredRun a = run_with_hits(0.25, 8192), b = run_with_hits(0.5, 4096),
                  c = run_with_hits(1, 1 << 20), past = run_with_hits(std::nullopt, 0), unknown;
  EXPECT_EQ(
      page_cache_text({&a, &unknown, &c, &b}),
      "page cache: 50.0 % of what is wanted was there; fetched and not wanted 8 KiB, evicted 0 B, "
      "fetched again 4 KiB");
  StoredRun ahead = run_with_hits(0.5, 4096), warm = ahead;
  ahead.run.page_cache->readahead_windows = 60;
  ahead.run.page_cache->readahead_bytes = 60 << 18;
  warm.run.page_cache->readahead_windows = 0;
  warm.run.page_cache->readahead_bytes = 0;
  EXPECT_TRUE(
      page_cache_text({&ahead}).ends_with("; 60 windows of read-ahead, 256 KiB on average"));
  EXPECT_TRUE(page_cache_text({&warm}).ends_with("fetched again 4 KiB"));
  EXPECT_NE(page_cache_text({&past}).find("reads past it"), std::string::npos);
  EXPECT_EQ(page_cache_text({&unknown}), "");
}

TEST(RequestNotes, AreOneLineForAllCellsOfWhichTheSameIsTrue) {
  CellSummary first, second;
  first.label = "lba";
  first.read_for = {{"samples", 0.8}, {"read_ahead", 0.2}};
  second = first;
  second.label = "path";
  EXPECT_EQ(request_notes({first, second}),
            "all cells: what the disk read: samples 80.0 %, read ahead 20.0 %\n");
  second.read_for = {{"samples", 1.0}};
  EXPECT_EQ(request_notes({first, second}),
            "lba: what the disk read: samples 80.0 %, read ahead 20.0 %\n"
            "path: what the disk read: samples 100.0 %\n");
  EXPECT_EQ(request_notes({CellSummary()}), "");
}

}  // namespace
}  // namespace blksweep
