// Series as they are packed in the database.
#include "store/summary/series.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

TEST(Series, GpuPointsComeBackWithWhatIsUnknown) {
  const std::vector<GpuPoint> points{{-1, 97, 40, std::uint64_t{9} << 30, 1980, 4},
                                     {5, std::nullopt, 0, std::nullopt, std::nullopt, {}}};
  const auto again = decode_gpu_series(encode_series(points) + "rest");
  ASSERT_EQ(again.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].at_ns, points[i].at_ns);
    EXPECT_EQ(again[i].utilisation, points[i].utilisation);
    EXPECT_EQ(again[i].memory_utilisation, points[i].memory_utilisation);
    EXPECT_EQ(again[i].memory_used_bytes, points[i].memory_used_bytes);
    EXPECT_EQ(again[i].clock_mhz, points[i].clock_mhz);
    EXPECT_EQ(again[i].throttle_reasons, points[i].throttle_reasons);
  }
}

TEST(Series, TheWorkOfAnAcceleratorComesBack) {
  const std::vector<TransferSlice> slices{{{-3, 5}, 7, 1, std::uint64_t{1} << 40},
                                          {{5, 6}, 8, 0, 0}};
  EXPECT_EQ(encode_series(slices).size(), 64U);
  EXPECT_EQ(decode_transfer_series(encode_series(slices)), slices);
  const std::vector<KernelSpan> kernels{{{10, 20}, 3, 11}};
  EXPECT_EQ(encode_series(kernels).size(), 28U);
  EXPECT_EQ(decode_kernel_series(encode_series(kernels) + "rest"), kernels);
}

TEST(Series, WhatBecameOfThePageCacheComesBack) {
  const std::vector<CacheSeriesPoint> points{{-1, std::uint64_t{1} << 40, 4096, 0, 8192, 7, 8, 9},
                                             {5, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(encode_series(points).size(), 128U);
  EXPECT_EQ(decode_cache_series(encode_series(points) + "rest"), points);
}

TEST(Series, DecodeTurnsEncodeBack) {
  std::vector<IssuePoint> issues;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    issues.push_back({std::int64_t{i} * 977, std::uint64_t{1} << (i % 64), i * 4096});
    if (i % 3 > 0) {
      issues.back().latency_ns = i;
      issues.back().read = i;
      issues.back().batch = i / 7;
    }
  }
  const std::string bytes = encode_series(issues);
  EXPECT_EQ(bytes.size(), 36000U);
  const auto back = decode_issue_series(bytes);
  ASSERT_EQ(back.size(), issues.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].at_ns, issues[i].at_ns);
    EXPECT_EQ(back[i].sector, issues[i].sector);
    EXPECT_EQ(back[i].bytes, issues[i].bytes);
    EXPECT_EQ(back[i].latency_ns, issues[i].latency_ns);
    EXPECT_EQ(back[i].read, issues[i].read);
    EXPECT_EQ(back[i].batch, issues[i].batch);
  }
  EXPECT_TRUE(decode_depth_series("too short").empty());
}

}  // namespace
}  // namespace blksweep
