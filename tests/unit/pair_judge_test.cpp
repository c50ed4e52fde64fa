// When the times of a run and its fio twin may be compared, and what is said of their requests.
#include <gtest/gtest.h>

#include "lab/pair.h"
#include "store/twin_summary.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using testing_support::FlatCatalog;

// A run and its twin with nothing wrong; a test changes one thing.
struct Case {
  FlatCatalog flat{"/data"};
  Source source;
  CellSettings cell;
  PlannedCell planned;
  RunRecord run;
  FioRecord fio;
  std::atomic<bool> stop{false};
  StageMakers makers;

  Case() {
    flat.add("a", 4096, 4096);
    source.catalog = flat.view();
    planned.plan.order = {0};
    planned.plan.reads = {{0, 4096, 0}};
    cell.cache = CacheState::cold;
    run.epoch_ns = fio.runtime_ns = 1'000'000;
    run.bytes = fio.read_bytes = fio.planned_bytes = 4096;
    run.device_bytes = fio.device_bytes = 4096;
    run.device_reads = fio.requests = 100;
    run.resident_before = fio.resident_before = 0;
    fio.arm = "grouped";
  }
  PairRequest request() const {
    return {.source = source,
            .cell = cell,
            .planned = planned,
            .arms = {true, false},
            .stop = stop,
            .makers = makers};
  }
  std::string no_ratio() const { return no_ratio_because(request(), run, fio); }
  std::string requests() const { return requests_differ_because(request(), run, fio); }
};

TEST(PairJudge, TheSameWorkFromTheSameStartHasARatio) {
  Case c;
  EXPECT_EQ(c.no_ratio(), "");
  EXPECT_EQ(c.requests(), "");
}

TEST(PairJudge, WorkThatFioDoesNotDoVoidsTheRatio) {
  Case c;
  c.cell.consumer = ConsumerKind::emulated;
  EXPECT_NE(c.no_ratio().find("consumer"), std::string::npos);
  c.cell.consumer = ConsumerKind::none;
  c.cell.copy = CopyKind::host;
  EXPECT_NE(c.no_ratio().find("copies"), std::string::npos);
  c.cell.copy = CopyKind::none;
  c.cell.decode_threads = 1;
  EXPECT_NE(c.no_ratio().find("decodes"), std::string::npos);
}

TEST(PairJudge, OtherBytesOrHalfARunVoidTheRatio) {
  Case c;
  c.fio.read_bytes = 4095;
  EXPECT_NE(c.no_ratio().find("4095"), std::string::npos);
  c.fio.read_bytes = 4096;
  c.run.incomplete = true;
  EXPECT_NE(c.no_ratio(), "");
}

TEST(PairJudge, ATwinThatWasNotColdVoidsTheRatio) {
  Case c;
  c.fio.resident_before = 0.002;
  EXPECT_NE(c.no_ratio().find("did not start cold"), std::string::npos);
  c.fio.resident_before.reset();
  EXPECT_NE(c.no_ratio().find("unknown"), std::string::npos);
  c.fio.resident_before = 0.05;
  c.cell.node.pin_pages = 10;
  EXPECT_EQ(c.no_ratio(), "") << "what is pinned is meant to be there";
}

TEST(PairJudge, ThroughThePageCacheBothBeginWithTheSamePartOfIt) {
  Case c;
  c.cell.cache = CacheState::keep;
  c.cell.direct = false;
  c.fio.resident_before = 1;
  EXPECT_NE(c.no_ratio().find("0.0 % of the data in the page cache, fio with 100.0 %"),
            std::string::npos);
  c.run.resident_before = 1;
  EXPECT_EQ(c.no_ratio(), "");
  c.run.resident_before.reset();
  EXPECT_NE(c.no_ratio(), "") << "what is not known is not equal";
}

// Referee of issue 10: compressed files of btrfs are read through the page cache whatever is asked.
TEST(PairJudge, DirectReadsPassTheCacheByWhereTheDeviceGaveEveryByte) {
  Case c;
  c.cell.cache = CacheState::keep;
  c.fio.resident_before = 1;
  EXPECT_EQ(c.no_ratio(), "") << "all 4,096 bytes on both sides";
  c.fio.device_bytes = 0;
  EXPECT_EQ(
      c.no_ratio(),
      "our run began with 0.0 % of the data in the page cache, fio with 100.0 %, and direct "
      "reads did not pass it by: of 4 KiB the device read 4 KiB beside our run and 0 B beside "
      "fio: use --cache cold or warm");
  c.fio.device_bytes.reset();
  EXPECT_NE(c.no_ratio().find("an unknown amount beside fio"), std::string::npos);
  c.fio.device_bytes = 4096;
  c.run.device_bytes = 1024;
  EXPECT_NE(c.no_ratio(), "") << "compressed: the device gave less than was read";
  c.run.device_bytes = 4096;
  c.run.resident_after = 0.5;
  EXPECT_NE(c.no_ratio(), "") << "what was read stayed in memory";
  c.run.resident_before = 1;
  c.run.resident_after = 1;
  EXPECT_EQ(c.no_ratio(), "") << "both began alike, and both from memory";
}

TEST(PairJudge, AColdTwinThatACacheServedVoidsTheRatio) {
  Case c;
  c.run.device_bytes_expected = 4096;
  EXPECT_EQ(c.no_ratio(), "");
  c.fio.device_bytes = 2048;
  EXPECT_NE(c.no_ratio().find("2 KiB beside fio of the 4 KiB that only it could give"),
            std::string::npos);
  c.fio.device_bytes.reset();
  EXPECT_EQ(c.no_ratio(), "") << "no statistics: nothing is known against it";
}

TEST(PairJudge, OneJobOfFioCannotReadBothWays) {
  Case c;
  c.cell.direct = false;
  c.cell.merge = Merge::device;
  c.planned.plan.order = {0, 1};
  c.planned.plan.device_fallbacks = 1;
  EXPECT_NE(c.no_ratio().find("one way for all"), std::string::npos);
}

TEST(PairJudge, RequestsThatDifferSayWhy) {
  Case c;
  c.fio.requests = 102;
  EXPECT_EQ(c.requests(), "") << "within 2 %";
  c.fio.requests = 103;
  EXPECT_NE(c.requests().find("not known"), std::string::npos);
  c.run.groups_cut = 5;
  EXPECT_NE(c.requests().find("cut 5 groups short"), std::string::npos);
  c.fio.device_bytes = 8192;
  EXPECT_NE(c.requests().find("the device read"), std::string::npos);
  c.fio.arm = "plain";
  EXPECT_NE(c.requests().find("one read at a time"), std::string::npos);
  c.fio.requests.reset();
  EXPECT_EQ(c.requests(), "") << "unknown is not different";
}

StoredRun stored(double ratio, std::uint64_t ours, std::uint64_t theirs) {
  StoredRun s;
  s.run.device_reads = ours;
  s.run.fio.emplace();
  s.run.fio->ratio = ratio;
  s.run.fio->requests = theirs;
  return s;
}

TEST(TwinSummary, SaysWhatOfARatioIsMerging) {
  StoredRun a = stored(1.05, 441, 444);
  a.run.fio_plain.emplace();
  a.run.fio_plain->ratio = 1.68;
  a.run.fio_plain->requests = 6000;
  const StoredRun* all[] = {&a};
  const TwinSummary s = twin_summary(all);
  EXPECT_TRUE(s.same_requests());
  EXPECT_EQ(requests_text(s), "441 / 444");
  EXPECT_EQ(twin_notes("lba", s),
            "lba: 1.68 times plain fio, 1.60 of it by groups and merging: 441 requests at the "
            "device against 6,000\n");
}

TEST(TwinSummary, NamesTheReasonsOnce) {
  StoredRun a = stored(1.2, 500, 400);
  a.run.fio->requests_reason = "a window";
  StoredRun b = a;
  StoredRun c;
  c.run.fio.emplace();
  c.run.fio->ratio_reason = "a consumer";
  const StoredRun* all[] = {&a, &b, &c};
  EXPECT_EQ(twin_notes("x", twin_summary(all)),
            "x: of the ratio to fio, 1.20, a part may be merging: 500 requests at the device, "
            "fio's 400 (a window)\nx: no ratio to fio: a consumer\n");
  EXPECT_EQ(twin_notes("x", twin_summary({})), "");
  EXPECT_EQ(requests_text(twin_summary({})), "-");
}

}  // namespace
}  // namespace blksweep
