// When the times of a run and its fio twin may be compared, and what is said of their requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "experiment/pair.h"
#include "store/summary/summary.h"
#include "store/summary/twin_summary.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

// A run and its twin with nothing wrong; a test changes one thing.
struct JudgeCase {
  FlatCatalog flat{"/data"};
  Source source;
  CellSettings cell;
  PlannedEpoch planned;
  RunRecord run;
  FioRecord fio;
  std::atomic<bool> stop{false};
  StageMakers makers;

  JudgeCase() {
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
  JudgeCase c;
  EXPECT_EQ(c.no_ratio(), "");
  EXPECT_EQ(c.requests(), "");
}

TEST(PairTwin, IsDirectWhereFilesAreReadSoOrTheDeviceIs) {
  for (const bool asked : {false, true}) {
    for (const bool possible : {false, true}) {
      for (const bool device : {false, true}) {
        JudgeCase c;
        c.cell.direct = asked;
        c.source.direct_possible = possible;
        c.planned.plan.reads[0].source = device ? kFromDevice : 0;
        const auto settings = twin_settings(c.request(), true);
        ASSERT_TRUE(settings);
        EXPECT_EQ(settings->direct, (asked && possible) || device);
      }
    }
  }
}

TEST(PairJudge, WorkThatFioDoesNotDoVoidsTheRatio) {
  JudgeCase c;
  c.cell.consumer = ConsumerKind::emulated;
  EXPECT_NE(c.no_ratio().find("consumer"), std::string::npos);
  c.cell.consumer = ConsumerKind::none;
  c.cell.copy = CopyKind::host;
  EXPECT_NE(c.no_ratio().find("copies"), std::string::npos);
  c.cell.copy = CopyKind::none;
  c.cell.decode_threads = 1;
  EXPECT_NE(c.no_ratio().find("decodes"), std::string::npos);
  c.cell.decode_threads = 0;
  c.run.wrong_samples = 0;
  EXPECT_NE(c.no_ratio().find("hashes"), std::string::npos);
  c.run.wrong_samples.reset();
  c.planned.plan.reads.push_back({0, 4096, kZeros});
  EXPECT_NE(c.no_ratio().find("holes"), std::string::npos);
}

// Issue 10, referee: fio read 150 MB/s under a limit of 100 MB/s in every repeat: ratio 0.70.
TEST(PairJudge, ABurstThroughALimitVoidsTheRatio) {
  JudgeCase c;
  c.cell.node.bandwidth_limit = Bytes{4'096'000};  // 4096 bytes take 1 ms
  EXPECT_EQ(c.no_ratio(), "");
  c.fio.runtime_ns = 700'000;
  EXPECT_NE(c.no_ratio().find("fio was faster than the limit"), std::string::npos);
  c.cell.node.bandwidth_limit = std::nullopt;
  EXPECT_EQ(c.no_ratio(), "");
  c.cell.node.iops_limit = 100'000;
  c.fio.runtime_ns = 1'000'000;
  c.run.epoch_ns = 500'000;
  EXPECT_NE(c.no_ratio().find("our run was faster than the limit"), std::string::npos);
}

TEST(PairJudge, OtherBytesOrHalfARunVoidTheRatio) {
  JudgeCase c;
  c.fio.read_bytes = 4095;
  EXPECT_NE(c.no_ratio().find("4095"), std::string::npos);
  c.fio.read_bytes = 4096;
  c.run.incomplete = true;
  EXPECT_NE(c.no_ratio(), "");
}

TEST(PairJudge, ATwinThatWasNotColdVoidsTheRatio) {
  JudgeCase c;
  c.fio.resident_before = 0.001;
  EXPECT_EQ(c.no_ratio(), "") << "a thousandth may be there";
  c.fio.resident_before = 0.002;
  EXPECT_NE(c.no_ratio().find("did not start cold"), std::string::npos);
  c.fio.resident_before.reset();
  EXPECT_NE(c.no_ratio().find("unknown"), std::string::npos);
  c.fio.resident_before = 0.05;
  c.cell.node.pin_pages = 10;
  EXPECT_EQ(c.no_ratio(), "") << "what is pinned is meant to be there";
}

TEST(PairJudge, ThroughThePageCacheBothBeginWithTheSamePartOfIt) {
  JudgeCase c;
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
  JudgeCase c;
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
  JudgeCase c;
  c.run.device_bytes_expected = 4096;
  EXPECT_EQ(c.no_ratio(), "");
  c.fio.device_bytes = 2048;
  EXPECT_NE(c.no_ratio().find("2 KiB beside fio of the 4 KiB that only it could give"),
            std::string::npos);
  c.fio.device_bytes.reset();
  EXPECT_EQ(c.no_ratio(), "") << "no statistics: nothing is known against it";
}

// Second referee of issue 10: a reader that ran beside fio alone made us 14 times as fast as it.
TEST(PairJudge, WhatOthersReadBesideFioVoidsTheRatio) {
  JudgeCase c;
  constexpr std::uint64_t kPlan = 100ULL << 20;
  c.run.bytes = c.fio.read_bytes = c.fio.planned_bytes = kPlan;
  c.run.device_bytes = c.run.own_read_bytes = kPlan;
  c.fio.device_bytes = c.run.own_read_bytes = kPlan + kPlan / 20;
  EXPECT_EQ(c.no_ratio(), "") << "metadata";
  c.run.own_read_bytes = kPlan;
  c.fio.device_bytes = kPlan + kPlan / 4;
  EXPECT_EQ(c.no_ratio(),
            "the device read 125 MiB beside fio, which had 100 MiB to read: somebody else used it");
  c.cell.direct = false;
  EXPECT_EQ(c.no_ratio(), "") << "read ahead";
  c.fio.device_bytes = 2 * kPlan;
  EXPECT_NE(c.no_ratio(), "");
  c.run.own_read_bytes = 2 * kPlan;
  EXPECT_EQ(c.no_ratio(), "") << "our own run needed as much";
  c.cell.cache = CacheState::warm;
  c.run.resident_before = c.fio.resident_before = 1;
  EXPECT_EQ(c.no_ratio(), "the device read 200 MiB beside fio, which was to read from memory");
  c.fio.device_bytes = 1 << 20;
  EXPECT_EQ(c.no_ratio(), "");
}

// Issue 10, referee: 1,096 requests beside fio where 134 were its own, and 3 % more bytes:
// ratio 6.11.
TEST(PairJudge, SmallReadsOfOthersBesideFioVoidTheRatioToo) {
  JudgeCase c;
  constexpr std::uint64_t kPlan = 120ULL << 20;
  c.run.bytes = c.fio.read_bytes = c.fio.planned_bytes = kPlan;
  c.run.device_bytes = c.run.own_read_bytes = c.fio.device_bytes = kPlan;
  c.run.device_reads = 134;
  c.fio.requests = 1096;
  EXPECT_EQ(c.no_ratio(), "") << "no byte more was read: they are its own";
  c.fio.device_bytes = kPlan + (std::uint64_t{962} << 12);
  EXPECT_NE(c.no_ratio().find("somebody else used it"), std::string::npos) << c.no_ratio();
  c.cell.cache = CacheState::keep;
  EXPECT_EQ(c.no_ratio(), "") << "inodes that our run found in memory";
}

TEST(PairJudge, OneJobOfFioCannotReadBothWays) {
  JudgeCase c;
  c.cell.direct = false;
  c.cell.merge = Merge::device;
  c.planned.plan.order = {0, 1};
  c.planned.plan.device_fallbacks = 1;
  EXPECT_NE(c.no_ratio().find("one way for all"), std::string::npos);
  for (const std::uint64_t all : {0U, 2U}) {
    c.planned.plan.device_fallbacks = all;
    EXPECT_EQ(c.no_ratio().find("one way for all"), std::string::npos) << all << " of 2";
  }
}

TEST(PairJudge, RequestsThatDifferSayWhy) {
  JudgeCase c;
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

// Rounds of both twins: fio's times over ours, and the requests of ours, fio and plain fio.
struct Rounds {
  std::vector<StoredRun> runs;
  std::vector<const StoredRun*> all;
  Rounds(const std::vector<std::pair<double, double>>& ratios,
         const std::array<std::uint64_t, 3>& requests) {
    for (const auto& [grouped, plain] : ratios) {
      StoredRun& s = runs.emplace_back(stored(grouped, requests[0], requests[1]));
      s.run.fio_plain.emplace();
      s.run.fio_plain->ratio = plain;
      s.run.fio_plain->requests = requests[2];
    }
    std::ranges::transform(runs, std::back_inserter(all), [](auto& r) { return &r; });
  }
  std::string notes() const { return twin_notes("lba", twin_summary(all)); }
};

TEST(TwinSummary, SaysWhatOfARatioIsShownToBeMerging) {
  const Rounds r({{1.05, 1.68}, {1.04, 1.66}, {1.06, 1.70}, {1.05, 1.67}, {1.05, 1.69}},
                 {441, 444, 6000});
  EXPECT_TRUE(twin_summary(r.all).same_requests());
  EXPECT_EQ(requests_text(twin_summary(r.all)), "441 / 444");
  EXPECT_EQ(r.notes(),
            "lba: ours / plain fio 1.68, 1.60 [1.59..1.61] of it by groups and merging: 6,000 "
            "requests at the device one by one, 444 in groups\n");
}

// Referee of issue 10: "1.21 times plain fio, 1.12 of it by groups and merging: 10,053 requests at
// the device against 10,054".
TEST(TwinSummary, OfEqualRequestsNothingIsMerging) {
  const Rounds r({{1.08, 1.21}, {1.08, 1.20}, {1.08, 1.22}, {1.08, 1.21}, {1.08, 1.21}},
                 {10'053, 10'053, 10'054});
  EXPECT_EQ(r.notes(),
            "lba: ours / plain fio 1.21, 10,054 requests at the device one by one, 10,053 in "
            "groups, which is the same: none of it is merging\n");
}

TEST(TwinSummary, ADifferenceThatTheRoundsDoNotShowIsNotMerging) {
  const Rounds noisy({{0.70, 1.10}, {1.30, 1.00}, {0.60, 1.20}, {1.40, 1.05}, {0.80, 0.95}},
                     {441, 444, 6000});
  EXPECT_NE(noisy.notes().find("that it makes a difference is not shown: 1.1"), std::string::npos)
      << noisy.notes();
  const Rounds few({{1.05, 1.68}, {1.05, 1.68}}, {441, 444, 6000});
  EXPECT_NE(few.notes().find("not shown by fewer than 5 rounds"), std::string::npos) << few.notes();
}

// Referee of issue 10: the table said 2.14 and the note below it 2.11.
TEST(TwinSummary, TableAndNotesHaveOneEstimator) {
  const Rounds r({{1, 1}, {1, 1}, {2, 8}, {4, 8}, {8, 8}, {8, 8}}, {500, 400, 6000});
  SummaryInput input;
  input.cells.push_back({1, {}});
  input.runs = r.runs;
  for (std::size_t i = 0; i < input.runs.size(); ++i) {
    StoredRun& s = input.runs[i];
    s.cell_id = 1;
    s.run.repeat = static_cast<std::uint32_t>(i);
    s.run.epoch_ns = 1'000'000'000;
    s.run.samples = 100;
    s.run.bytes = 1 << 20;
  }
  const std::string text = summary_text(summarize(input));  // medians: 3.00 and 8.00
  EXPECT_EQ(text.find("3.00"), std::string::npos) << text;
  EXPECT_EQ(text.find("8.00"), std::string::npos) << text;
  for (const char* column : {"ours / fio", "ours / plain fio"}) {
    const std::size_t table = text.find(column);
    EXPECT_NE(text.find(column, table + 1), std::string::npos) << column << " is its only name";
  }
  const auto count = [&](std::string_view value) {
    std::size_t n = 0;
    for (std::size_t at = text.find(value); at != std::string::npos;
         at = text.find(value, at + 1)) {
      ++n;
    }
    return n;
  };
  EXPECT_EQ(count("2.83"), 2U) << text;
  EXPECT_EQ(count("4.00"), 2U) << text;
}

// What the tool itself costs: a verdict of its own, of the cells that have a twin.
TEST(TwinSummary, SaysWhichCellsAreFasterOrSlowerThanFio) {
  SummaryInput input;
  const auto add = [&](std::int64_t cell, double ratio, double noise, std::uint32_t rounds) {
    input.cells.push_back({cell, CellRecord{{{"order", std::to_string(cell)}}}});
    for (std::uint32_t i = 0; i < rounds; ++i) {
      StoredRun& s =
          input.runs.emplace_back(stored(ratio * (i % 2 == 0 ? 1 + noise : 1 - noise), 1, 1));
      s.cell_id = cell;
      s.run.repeat = i;
      s.run.epoch_ns = 1'000'000'000;
      s.run.samples = 100;
      s.run.bytes = 1 << 20;
    }
  };
  add(1, 0.90, 0.001, 5);
  add(2, 1.20, 0.001, 5);
  add(3, 1.01, 0.20, 5);
  add(4, 1.01, 0.001, 4);
  const std::vector<CellSummary> cells = summarize(input);
  EXPECT_EQ(cells[0].twins.verdict.finding, Finding::slower);
  EXPECT_EQ(cells[1].twins.verdict.finding, Finding::faster);
  EXPECT_EQ(cells[2].twins.verdict.finding, Finding::not_shown);
  EXPECT_EQ(cells[3].twins.verdict.finding, Finding::none) << "of four rounds";
  const std::string text = summary_text(cells);
  EXPECT_NE(text.find("ours / fio: 1 slower, 2 faster, 3 not shown (needs "), std::string::npos)
      << text;
  EXPECT_NE(text.find("one wrong word among 3 (Holm)"), std::string::npos) << text;
  input.margin = 0.3;
  EXPECT_TRUE(summarize(input)[0].twins.verdict.equal);
  input.margin.reset();
  add(5, 1.01, 0.20, 5);
  const std::string many = summary_text(summarize(input));
  EXPECT_NE(many.find("ours / fio: 1 slower, 2 faster, 2 cells not shown (needs up to "),
            std::string::npos)
      << many;
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
            "x: ours / fio 1.20 is not of the same requests: 500 at the device, fio's 400 (a "
            "window)\nx: no ratio to fio: a consumer\n");
  EXPECT_EQ(twin_notes("x", twin_summary({})), "");
  EXPECT_EQ(requests_text(twin_summary({})), "-");
}

}  // namespace
}  // namespace blksweep
