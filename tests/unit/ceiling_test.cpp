#include "experiment/ceiling.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

constexpr std::uint64_t kDeviceBytes = std::uint64_t{64} << 30;

std::vector<ByteRange> ranges_of(const FlatCatalog& files, std::uint64_t device = kDeviceBytes) {
  return DataMap(files.view(), kPageBytes, device).ranges();
}

TEST(DataMap, JoinsWhatTouchesAndRoundsOutwards) {
  FlatCatalog files("/data");
  files.add("c", 4096, 40960);
  files.add("a", 5000, 8192);   // two blocks
  files.add("b", 4096, 16384);  // right behind a
  EXPECT_EQ(ranges_of(files), (std::vector<ByteRange>{{8192, 20480}, {40960, 45056}}));
}

TEST(DataMap, LeavesOutWhatTheDeviceDoesNotHold) {
  FlatCatalog files("/data");
  for (const std::uint32_t flag :
       {kExtentUnwritten, kExtentInline, kExtentEncoded, kExtentNoAddress}) {
    files.add("f" + std::to_string(flag), 4096, flag * kMiB);
    files.extents.back().flags = flag;
  }
  EXPECT_TRUE(ranges_of(files).empty());
  files.add("shared", 4096, 100 * kMiB);
  files.extents.back().flags = kExtentShared;
  files.add("odd", 4096, 200 * kMiB + 512);
  files.extents.back().flags = kExtentUnaligned;
  EXPECT_EQ(ranges_of(files), (std::vector<ByteRange>{{100 * kMiB, 100 * kMiB + 4096},
                                                      {200 * kMiB, 200 * kMiB + 8192}}));
}

TEST(DataMap, EndsWithTheFileAndTheDevice) {
  FlatCatalog files("/data");
  files.add("short", 4096, 0);
  files.extents.back().length = kMiB;  // allocated behind its end
  files.add("cut", 8192, kMiB);
  EXPECT_EQ(ranges_of(files, kMiB + 4096 + 100),
            (std::vector<ByteRange>{{0, 4096}, {kMiB, kMiB + 4096}}));
}

TEST(DataMap, SaysWhatItsBytesAreWorthInSamples) {
  FlatCatalog holes("/data");
  holes.add("a", kMiB, 0);
  holes.extents.back().length = kMiB / 8;
  EXPECT_NEAR(DataMap(holes.view(), kPageBytes, kDeviceBytes).samples_per_byte().value_or(0), 8,
              1e-9);
  FlatCatalog tiny("/data");
  for (std::uint64_t i = 0; i < 100; ++i) {
    tiny.add("t" + std::to_string(i), 128, i * 64 * kPageBytes);
  }
  EXPECT_NEAR(DataMap(tiny.view(), kPageBytes, kDeviceBytes).samples_per_byte().value_or(0),
              1.0 / 32, 1e-9);
  FlatCatalog half("/data");
  half.add("here", kMiB, 0);
  half.add("inline", kMiB, 2 * kMiB);
  half.extents.back().flags = kExtentInline;
  EXPECT_FALSE(DataMap(half.view(), kPageBytes, kDeviceBytes).samples_per_byte());
  half.extents.back().flags = kExtentUnwritten;
  EXPECT_NEAR(DataMap(half.view(), kPageBytes, kDeviceBytes).samples_per_byte().value_or(0), 2,
              1e-9);
}

TEST(DataMap, SaysNothingOfSamplesWhereThereAreNoBytes) {
  FlatCatalog empty("/data");
  empty.add("nothing", 0);
  EXPECT_FALSE(DataMap(empty.view(), kPageBytes, kDeviceBytes).samples_per_byte());
  FlatCatalog beyond("/data");
  beyond.add("cut off", kPageBytes, kDeviceBytes);
  EXPECT_FALSE(DataMap(beyond.view(), kPageBytes, kDeviceBytes).samples_per_byte());
  FlatCatalog least("/data");
  least.add("a byte", 1);
  EXPECT_EQ(DataMap(least.view(), 1, kDeviceBytes).samples_per_byte(), 1.0);
}

TEST(DataMap, SaysNothingOfSamplesWhereMoreThanAHundredthLiesOutside) {
  for (const std::uint64_t outside : {0U, 1U, 2U, 3U}) {
    FlatCatalog files("/data");
    for (std::uint64_t i = 0; i < 200; ++i) {
      files.add("f" + std::to_string(i), kPageBytes, i * 2 * kPageBytes);
      files.extents.back().flags = i < outside ? kExtentInline : 0U;
    }
    const auto worth = DataMap(files.view(), kPageBytes, kDeviceBytes).samples_per_byte();
    EXPECT_EQ(worth.has_value(), outside <= 2) << outside;
    EXPECT_NEAR(worth.value_or(1), 1, 1e-9) << outside;
  }
}

// Issue 10, referee: reflinked files were said to give two bytes for each that is read; a plan
// reads what they share for each of them.
TEST(DataMap, CountsWhatFilesShareForEachOfThem) {
  FlatCatalog files("/data");
  files.add("a", kMiB, 0);
  files.add("b", kMiB, 0);
  const DataMap map(files.view(), kPageBytes, kDeviceBytes);
  EXPECT_EQ(map.bytes(), kMiB);
  EXPECT_NEAR(map.samples_per_byte().value_or(0), 1, 1e-9);
}

TEST(DataMap, ReadsEverythingOnceAndNothingElse) {
  FlatCatalog files("/data");
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t size = 4096 * (1 + i * 37 % 600);
    files.add("f" + std::to_string(i), size, at);
    at += size + (i % 3 == 0 ? 0 : 4096 * (i % 11));
  }
  const DataMap data(files.view(), kPageBytes, kDeviceBytes);
  std::uint64_t bytes = 0, last = 0;
  for (const ByteRange& r : data.reads(kSequentialCeilingRead)) {
    EXPECT_GE(r.begin, last);
    EXPECT_LE(r.bytes(), kSequentialCeilingRead);
    EXPECT_TRUE(std::ranges::any_of(data.ranges(), [&](const ByteRange& whole) {
      return whole.begin <= r.begin && r.end <= whole.end;
    }));
    bytes += r.bytes();
    last = r.end;
  }
  EXPECT_EQ(bytes, data.bytes());
  std::uint64_t n = 0;
  for (const ByteRange& r : data.ranges()) {
    EXPECT_EQ(data.address(n), r.begin);
    n += r.bytes();
    EXPECT_EQ(data.address(n - 1), r.end - 1);
  }
}

TEST(Ceiling, RandomReadsAreDistinctBlocksOfTheData) {
  FlatCatalog files("/data");
  for (std::uint64_t i = 0; i < 100; ++i) {
    files.add("f" + std::to_string(i), 24576, i * kMiB);
  }
  const DataMap data(files.view(), kPageBytes, kDeviceBytes);
  const auto reads = random_reads(data, 7, 0);
  EXPECT_EQ(reads.size(), 600U);
  std::set<std::uint64_t> places;
  for (const ByteRange& r : reads) {
    EXPECT_EQ(r.bytes(), kPageBytes);
    EXPECT_LT(r.begin % kMiB, 24576U);
    places.insert(r.begin);
  }
  EXPECT_EQ(places.size(), reads.size());
  EXPECT_NE(random_reads(data, 7, 1), reads) << "another round, another order";
  EXPECT_EQ(random_reads(data, 7, 0), reads);
}

// A second does not reach through a large set: rounds must not all measure its first gigabyte.
TEST(Ceiling, RoundsOfALargeSetBeginAtPlacesThatAreSpread) {
  FlatCatalog files("/data");
  files.add("large", 10'000 * kMiB);
  const DataMap data(files.view(), kPageBytes, kDeviceBytes);
  std::set<std::uint64_t> tenths;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto reads = sequential_reads(data, 3, round);
    ASSERT_EQ(reads.size(), 10'000U);
    tenths.insert(reads.front().begin / (1000 * kMiB));
    std::uint64_t jumps = 0;
    for (std::size_t i = 1; i < reads.size(); ++i) {
      jumps += reads[i].begin == reads[i - 1].end ? 0 : 1;
    }
    EXPECT_LE(jumps, 1U) << "in address order, and once round";
  }
  EXPECT_EQ(tenths.size(), 10U);
}

TEST(Ceiling, ASmallSetIsReadFromItsBeginning) {
  FlatCatalog files("/data");
  files.add("small", 64 * kMiB, 4 * kMiB);
  const DataMap data(files.view(), kPageBytes, kDeviceBytes);
  for (std::uint32_t round = 0; round < 5; ++round) {
    EXPECT_EQ(sequential_reads(data, 3, round).front().begin, 4 * kMiB);
  }
}

TEST(Ceiling, RandomBlocksAreDistinctAndInside) {
  for (const std::uint64_t blocks : {1U, 10U, 1000U, 99'991U}) {
    const std::vector<std::uint64_t> b = distinct_blocks(blocks, 1000, 3);
    EXPECT_EQ(b.size(), std::min<std::uint64_t>(blocks, 1000));
    const std::set<std::uint64_t> unique(b.begin(), b.end());
    EXPECT_EQ(unique.size(), b.size());
    EXPECT_LT(*unique.rbegin(), blocks);
  }
  EXPECT_NE(distinct_blocks(1000, 1000, 1), distinct_blocks(1000, 1000, 2));
}

TEST(Ceiling, SaysWhyItIsMissing) {
  FlatCatalog files("/data");
  CeilingSettings settings;
  settings.device_node = "/dev/blksweep-no-such-device";
  Ceiling c = measure_ceiling(DataMap(files.view(), kPageBytes, kDeviceBytes), settings);
  EXPECT_TRUE(c.records.empty());
  ASSERT_EQ(c.warnings.size(), 1U);
  EXPECT_NE(c.warnings[0].find("no extent"), std::string::npos);
  files.add("a", 4096, kMiB);
  c = measure_ceiling(DataMap(files.view(), kPageBytes, kDeviceBytes), settings);
  EXPECT_TRUE(c.records.empty());
  ASSERT_EQ(c.warnings.size(), 1U) << "three figures, one reason";
  EXPECT_NE(c.warnings[0].find("open /dev/blksweep-no-such-device: No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace blksweep
