#include "probe/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "experiment/record/attribution_record.h"
#include "support/flat_catalog.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kSelf = 7, kStranger = 8;

ProbeIssue probed_read(std::uint64_t begin, std::uint32_t bytes, ReadOrigin origin = {}) {
  return {0, begin / kSectorBytes, bytes, 1000, origin};
}

// a: 8 KiB at 0; b: 5000 bytes in the 8 KiB behind it; metadata and others from 64 KiB on.
struct TwoFiles {
  support::FlatCatalog flat{"/data"};
  TwoFiles() {
    flat.add("x/a", 8192, 0);
    flat.add("x/b", 5000, 8192);
  }
  Attribution of(const std::vector<ProbeIssue>& reads,
                 std::vector<std::uint32_t> ours = {kSelf}) const {
    const Catalog c = flat.view();
    const OwnerMap map(c);
    return attribute({c, map, ours}, reads);
  }
};

TEST(Attribution, AMergedRequestIsEachFiles) {
  const Attribution a = TwoFiles().of({probed_read(4096, 12288)});
  EXPECT_EQ(a.of(ReadClass::samples).bytes, 4096U + 5000U);
  EXPECT_EQ(a.of(ReadClass::samples).requests, 1U);
  EXPECT_EQ(a.of(ReadClass::read_ahead).bytes, 8192U - 5000U);
  ASSERT_EQ(a.files.size(), 2U);
  EXPECT_EQ(a.files[0].path, "x/b");
  EXPECT_EQ(a.files[0].traffic.bytes, 8192U);
  EXPECT_EQ(a.files[1].traffic.bytes, 4096U);
  ASSERT_EQ(a.folders.size(), 1U);
  EXPECT_EQ(a.folders[0].path, "x");
  EXPECT_EQ(a.folders[0].traffic.requests, 1U);
  EXPECT_EQ(a.folders[0].traffic.latency_mean_ns(), 1000.0);
}

TEST(Attribution, WhoMadeAReadComesBeforeWhatItRead) {
  const TwoFiles t;
  const std::vector<ProbeIssue> reads = {probed_read(0, 8192, {.process = kStranger}),
                                         probed_read(0, 8192, {.process = kSelf}),
                                         probed_read(0, 8192)};  // not known: by its address
  const Attribution a = t.of(reads);
  EXPECT_EQ(a.of(ReadClass::other).bytes, 8192U);
  EXPECT_EQ(a.of(ReadClass::samples).bytes, 16384U);
  EXPECT_EQ(t.of(reads, {}).of(ReadClass::other).bytes, 0U);  // nobody is told apart
}

TEST(Attribution, WhatIsOfNoFileIsMetadataWhereTheKernelSaysSo) {
  const Attribution a =
      TwoFiles().of({probed_read(65536, 4096, {.metadata = true}),
                     probed_read(69632, 4096, {.device_page = true}),
                     probed_read(73728, 4096, {.read_ahead = true}), probed_read(77824, 4096)});
  EXPECT_EQ(a.of(ReadClass::metadata).requests, 2U);
  EXPECT_EQ(a.of(ReadClass::elsewhere).requests, 2U);
}

// The page cache of a device knows no files: it reads on behind their ends.
TEST(Attribution, ADeviceIsReadAheadBehindAFile) {
  const Attribution a = TwoFiles().of({probed_read(8192, 65536, {.device_page = true})});
  EXPECT_EQ(a.of(ReadClass::samples).bytes, 5000U);
  EXPECT_EQ(a.of(ReadClass::read_ahead).bytes, 65536U - 5000U);
}

// A file in two pieces, the second at the front of the disk.
TEST(Attribution, ARequestCountsForEachExtentThatItReads) {
  support::FlatCatalog flat{"/data"};
  flat.add("x/a", 4096, 0);
  flat.add("x/b", 12288, 65536);
  flat.extents.back().length = 8192;
  flat.extents.push_back(flat.extents.back());
  flat.extents.back().file_offset = 8192;
  flat.extents.back().length = 4096;
  flat.extents.back().device_offset = 4096;
  const Catalog c = flat.view();
  const OwnerMap map(c);
  std::vector<ProbeIssue> reads = {probed_read(0, 8192), probed_read(65536, 4096),
                                   probed_read(69632, 4096)};
  reads[2].latency_ns = 3000;
  const Attribution a = attribute({c, map, {}}, reads);
  ASSERT_EQ(a.extents.size(), 3U);
  EXPECT_EQ(a.extents[0].address, 65536U);
  EXPECT_EQ(a.extents[0].length, 8192U);
  EXPECT_EQ(a.extents[0].traffic.requests, 2U);
  EXPECT_EQ(a.extents[0].traffic.latency_mean_ns(), 2000.0);
  EXPECT_EQ(a.extents[1].path, "x/a");
  EXPECT_EQ(a.extents[2].path, "x/b");
  EXPECT_EQ(a.extents[2].file_offset, 8192U);
  EXPECT_EQ(a.extents[2].traffic.bytes, 4096U);
  ASSERT_EQ(a.files.size(), 2U);
  EXPECT_EQ(a.files[0].traffic.requests, 3U);
}

TEST(Attribution, LatencyIsBySize) {
  std::vector<ProbeIssue> reads = {probed_read(0, 4096), probed_read(4096, 4096),
                                   probed_read(0, 12288)};
  reads[0].latency_ns = 1020;
  reads[1].latency_ns.reset();
  reads[2].latency_ns = 5000;
  const Attribution a = TwoFiles().of(reads);
  ASSERT_EQ(a.latency.size(), 2U);
  EXPECT_EQ(a.latency[0].bytes, 4096U);
  EXPECT_EQ(a.latency[0].latency_ns, 896U);  // steps of 128 from 512 on
  EXPECT_EQ(a.latency[1].bytes, 8192U);
  EXPECT_EQ(a.latency[1].latency_ns, 4096U);
  EXPECT_EQ(a.of(ReadClass::samples).completed, 2U);
}

TEST(Attribution, ClassesSumUpToTheRequests) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed, 0x6174);
    const support::SyntheticCatalog data({.files = 40, .odd = 0.2, .holes = 0.2, .seed = seed});
    const Catalog c = data.view();
    const OwnerMap map(c);
    std::vector<ProbeIssue> reads;
    std::uint64_t bytes = 0;
    for (int i = 0; i < 500; ++i) {
      const auto length = static_cast<std::uint32_t>(kSectorBytes * (1 + rng.below(500)));
      reads.push_back(probed_read(rng.below(4U << 20), length,
                                  {.metadata = rng.below(8) == 0,
                                   .read_ahead = rng.below(2) == 0,
                                   .device_page = rng.below(8) == 0,
                                   .process = static_cast<std::uint32_t>(rng.below(3)) * 4}));
      bytes += length;
    }
    const std::uint32_t self = 4;
    const Attribution a = attribute({c, map, {&self, 1}}, reads);
    std::uint64_t sum = 0, files = 0, seen = 0;
    for (const ReadTraffic& t : a.classes) {
      sum += t.bytes;
    }
    for (const PathTraffic& f : a.files) {
      files += f.traffic.bytes;
    }
    for (const LatencyCell& l : a.latency) {
      seen += l.requests;
    }
    EXPECT_EQ(sum, bytes);
    EXPECT_EQ(seen, reads.size());
    EXPECT_LE(a.of(ReadClass::samples).bytes + a.of(ReadClass::read_ahead).bytes, bytes);
    EXPECT_GE(files, a.of(ReadClass::samples).bytes);
  }
}

// --- as the record of a run
// ------------------------------------------------------------------------

struct RecordRig {
  support::FlatCatalog flat = TwoFiles().flat;
  Plan plan;
  ProbeRecord probe;
  RecordRig() {
    probe.issues = {{0, 0, 8192, 1000, std::nullopt, std::nullopt, {.process = kSelf}},
                    {1, 128, 4096, 1000, std::nullopt, std::nullopt, {.process = kSelf}}};
    probe.requests = probe.issues.size();
    probe.origins = probe.makers = true;
    probe.others = {.writes = 3, .write_bytes = 12288, .flushes = 1};
  }
  Maybe<AttributionRecord> record(std::vector<std::uint32_t> ours = {kSelf}) const {
    const Catalog catalog = flat.view();
    return attribution_record(probe, {catalog, plan, ours});
  }
  static RequestClassRecord of(const Maybe<AttributionRecord>& a, const std::string& kind) {
    return *std::ranges::find(a->classes, kind, &RequestClassRecord::kind);
  }
};

TEST(AttributionRecords, WhatIsOfNobodyIsAWarning) {
  RecordRig rig;
  const auto a = rig.record();
  ASSERT_TRUE(a);
  EXPECT_EQ(RecordRig::of(a, "samples").bytes, 8192U);
  EXPECT_EQ(RecordRig::of(a, kUnattributed).requests, 1U);
  EXPECT_EQ(RecordRig::of(a, "writes").bytes, 12288U);
  EXPECT_NE(attribution_warning(a).find("1 requests read 4 KiB of neither"), std::string::npos)
      << attribution_warning(a);
  rig.probe.issues.pop_back();
  rig.probe.requests = 1;
  EXPECT_EQ(attribution_warning(rig.record()), "");
}

// Compressed, inline or not yet written: such files are no reason to know nothing of the others.
TEST(AttributionRecords, AFileWithoutAnAddressLeavesTheOthersTheirs) {
  RecordRig rig;
  rig.flat.add("nowhere", 4096);
  rig.flat.extents.back().flags = kExtentNoAddress;
  const auto a = rig.record();
  ASSERT_TRUE(a);
  EXPECT_EQ(RecordRig::of(a, "samples").bytes, 8192U);
  for (ExtentRecord& e : rig.flat.extents) {
    e.flags = kExtentNoAddress;
  }
  EXPECT_FALSE(rig.record());
}

TEST(AttributionRecords, FilesAndFoldersHaveWhatTheirExtentsHave) {
  const auto a = RecordRig().record();
  ASSERT_TRUE(a);
  const auto bytes_of = [&a](const std::string& kind) {
    std::uint64_t sum = 0;
    for (const RequestPathRecord& p : a->paths) {
      sum += p.kind == kind ? p.bytes : 0;
    }
    return sum;
  };
  EXPECT_EQ(bytes_of("file"), 8192U);
  EXPECT_EQ(bytes_of("folder"), 8192U);
}

TEST(AttributionRecords, WhatIsNotWholeSaysNothing) {
  RecordRig rig;
  ++rig.probe.requests;  // the log was thinned
  EXPECT_FALSE(rig.record());
  rig = RecordRig();
  rig.probe.lost_events = 1;
  EXPECT_FALSE(rig.record());
  rig = RecordRig();
  rig.probe.origins = false;
  EXPECT_FALSE(rig.record());
  EXPECT_EQ(attribution_warning(rig.record()), "");
}

TEST(AttributionRecords, OthersAreUnknownWhereNobodyIsToldApart) {
  RecordRig rig;
  EXPECT_EQ(RecordRig::of(rig.record(), "other").bytes, 0U);
  EXPECT_FALSE(RecordRig::of(rig.record({}), "other").bytes);
  rig.probe.makers = false;
  EXPECT_FALSE(RecordRig::of(rig.record(), "other").bytes);
}

}  // namespace
}  // namespace blksweep
