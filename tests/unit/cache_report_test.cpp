// What the memory of a cache probe says: by what was attached, and by page.
#include "probe/cache/cache_report.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "probe/cache/cache_programs.h"

namespace blksweep {
namespace {

// Every count another number.
cache_probe_counts counted() {
  cache_probe_counts c{};
  std::uint64_t n = 1;
  for (__u64* field :
       {&c.added, &c.added_wanted, &c.added_again, &c.evicted, &c.inodes_loaded, &c.inodes_evicted,
        &c.dentries_loaded, &c.shrunk, &c.readahead_sync, &c.readahead_async, &c.windows,
        &c.window_pages, &c.reclaims, &c.reclaimed, &c.reclaim_ns, &c.kswapd_wakes, &c.untold}) {
    *field = n++;
  }
  return c;
}

CacheReport report_with(const std::vector<std::string_view>& attached, bool makers = true) {
  return cache_report({.counts = counted(),
                       .words = {},
                       .files = {},
                       .attached = attached,
                       .knows_inodes = makers,
                       .knows_dentries = makers});
}

TEST(CacheReport, IsOfWhatWasCounted) {
  std::vector<std::string_view> all;
  for (const CacheProgram& use : kCachePrograms) {
    all.emplace_back(use.program);
  }
  const CacheReport r = report_with(all);
  const std::vector<std::optional<std::uint64_t>> found{
      r.added,
      r.added_wanted,
      r.added_again,
      r.evicted,
      r.inodes_loaded,
      r.inodes_evicted,
      r.dentries_loaded,
      r.shrunk,
      r.readahead_sync,
      r.readahead_async,
      r.windows,
      r.window_pages,
      r.reclaims,
      r.reclaimed,
      r.reclaim_ns ? std::optional(static_cast<std::uint64_t>(*r.reclaim_ns)) : std::nullopt,
      r.kswapd_wakes,
      r.lost_events};
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], i + 1);
  }
}

TEST(CacheReport, SaysNothingOfWhatNoProgramCounted) {
  const CacheReport none = report_with({});
  for (const auto& count : {none.inodes_loaded, none.inodes_evicted, none.dentries_loaded,
                            none.shrunk, none.readahead_sync, none.readahead_async, none.windows,
                            none.window_pages, none.reclaims, none.reclaimed, none.kswapd_wakes}) {
    EXPECT_FALSE(count);
  }
  EXPECT_FALSE(none.reclaim_ns);
  EXPECT_EQ(none.added, 1U);
  EXPECT_FALSE(report_with({"on_window"}).windows);  // half of them
  EXPECT_FALSE(report_with({"on_large_window"}).windows);
  EXPECT_FALSE(report_with({"on_reclaim"}).reclaims);
  EXPECT_FALSE(report_with({"on_reclaim_end"}).reclaims);
}

TEST(CacheReport, KnowsWhatIsMadeWhereTheKernelMakesIt) {
  const CacheReport unknown = report_with({"on_allocation"}, false);
  EXPECT_FALSE(unknown.inodes_loaded);
  EXPECT_FALSE(unknown.dentries_loaded);
  EXPECT_EQ(report_with({"on_allocation"}).dentries_loaded, 7U);
}

TEST(CacheReport, HasTheInodesGivenUpOfWhicheverFilesystem) {
  for (const char* program : {"on_inode_gone", "on_xfs_inode_gone", "on_btrfs_inode_gone"}) {
    EXPECT_EQ(report_with({program}).inodes_evicted, 6U) << program;
  }
}

// Four files: of 3 pages, of 65, none, and a second name of the second.
class CacheReportFiles : public testing::Test {
 protected:
  CacheReport report() const {
    return cache_report(
        {.counts = counts_, .words = words_, .files = files_, .most_files = most_, .attached = {}});
  }
  cache_probe_counts counts_{};
  std::vector<cache_probe_file> files_{{0, 3}, {1, 65}, {3, 0}, {1, 65}};
  std::vector<cache_probe_word> words_{3};
  std::size_t most_ = 20;
};

TEST_F(CacheReportFiles, CountsEachPageOnce) {
  words_[0] = {.wanted = 0b111, .added = 0b010, .evicted = 0, .again = 0};
  words_[2] = {.wanted = 1, .added = 0, .evicted = 0, .again = 0};
  const CacheReport r = report();
  EXPECT_EQ(r.wanted, 4U);
  EXPECT_EQ(r.found, 3U);
  EXPECT_TRUE(r.files.empty());  // nothing was for nothing, or twice
}

TEST_F(CacheReportFiles, NamesTheWorstFirstAndNoFileTwice) {
  words_[0] = {.wanted = 0b001, .added = 0b011, .evicted = 0, .again = 0};
  words_[1] = {.wanted = ~0ULL, .added = ~0ULL, .evicted = 0, .again = 0b11};
  words_[2] = {.wanted = 0, .added = 1, .evicted = 1, .again = 1};
  const FilePages first{.file = 0, .wanted = 1, .added = 2, .unwanted = 1, .again = 0};
  const FilePages second{.file = 1, .wanted = 64, .added = 65, .unwanted = 1, .again = 3};
  EXPECT_EQ(report().files, (std::vector{second, first}));
  most_ = 1;
  EXPECT_EQ(report().files, std::vector{second});
}

}  // namespace
}  // namespace blksweep
