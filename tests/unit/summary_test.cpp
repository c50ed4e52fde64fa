#include "store/summary/summary.h"

#include <gtest/gtest.h>

#include "store/export/csv.h"
#include "store/summary/ceilings.h"
#include "store/summary/labels.h"

namespace blksweep {
namespace {

CellRecord cell(std::initializer_list<std::pair<std::string, std::string>> settings) {
  return {{settings.begin(), settings.end()}};
}

StoredRun run(std::int64_t cell_id, std::uint32_t repeat, std::int64_t epoch_ns) {
  StoredRun r;
  r.id = cell_id * 100 + repeat;
  r.cell_id = cell_id;
  r.run.session_id = 1;
  r.run.repeat = repeat;
  r.run.samples = 1000;
  r.run.bytes = 4'096'000;
  r.run.epoch_ns = epoch_ns;
  return r;
}

TEST(CellLabels, NameWhatVariesAndLeaveOutNone) {
  const auto labels = cell_labels({
      cell({{"order", "random"}, {"merge", "none"}, {"shuffle", "none"}, {"window", "2%"}}),
      cell({{"order", "lba"}, {"merge", "device"}, {"shuffle", "none"}, {"window", "2%"}}),
      cell({{"order", "lba"}, {"merge", "device"}, {"shuffle", "reservoir"}, {"window", "10%"}}),
  });
  EXPECT_EQ(labels, (std::vector<std::string>{"random", "lba + device",
                                              "lba + device + reservoir + window 10%"}));
}

TEST(CellLabels, WhatPeersDoNotHeedIsNoDifferenceOfOurs) {
  const auto ours = [](const char* order) {
    return cell({{"order", order}, {"depth", "32"}, {"peer", "-"}, {"peer-workers", "-"}});
  };
  const auto peer = [](const char* workers) {
    return cell({{"order", "-"}, {"depth", "-"}, {"peer", "torch"}, {"peer-workers", workers}});
  };
  EXPECT_EQ(cell_labels({ours("random"), ours("lba"), peer("2"), peer("4")}),
            (std::vector<std::string>{"random", "lba", "torch + workers 2", "torch + workers 4"}));
  EXPECT_EQ(cell_labels({ours("lba"), peer("4")}), (std::vector<std::string>{"lba", "torch"}));
}

TEST(CellLabels, GiveSizesTheirUnits) {
  const auto labels = cell_labels({cell({{"order", "lba"}, {"chunk_bytes", "4194304"}}),
                                   cell({{"order", "lba"}, {"chunk_bytes", "65536"}})});
  EXPECT_EQ(labels, (std::vector<std::string>{"lba + chunk 4 MiB", "lba + chunk 64 KiB"}));
}

TEST(CellLabels, LeaveOutASortWindowThatIsOff) {
  const auto labels = cell_labels({cell({{"order", "random"}, {"sort-window", "0"}}),
                                   cell({{"order", "random"}, {"sort-window", "10%"}})});
  EXPECT_EQ(labels, (std::vector<std::string>{"random", "random + sort-window 10%"}));
}

TEST(CellLabels, LeaveOutWhatHasOneValueWhereItMeansSomething) {
  const auto labels = cell_labels(
      {cell({{"reader", "planned"}, {"order", "lba"}, {"depth", "32"}, {"scope", "-"}}),
       cell({{"reader", "workers:2"}, {"order", "random"}, {"depth", "-"}, {"scope", "sample"}})});
  EXPECT_EQ(labels, (std::vector<std::string>{"planned + lba", "workers:2 + random"}));
  const auto depths =
      cell_labels({cell({{"reader", "planned"}, {"order", "lba"}, {"depth", "8"}}),
                   cell({{"reader", "planned"}, {"order", "lba"}, {"depth", "32"}}),
                   cell({{"reader", "workers:2"}, {"order", "lba"}, {"depth", "-"}})});
  EXPECT_EQ(depths, (std::vector<std::string>{"planned + lba + depth 8", "planned + lba + depth 32",
                                              "workers:2 + lba"}));
}

TEST(CellLabels, AreDifferentWhereCellsAre) {
  const auto labels =
      cell_labels({cell({{"order", "lba"}, {"shuffle", "none"}, {"window", "2%"}}),
                   cell({{"order", "lba"}, {"shuffle", "none"}, {"window", "9%"}})});
  EXPECT_NE(labels[0], labels[1]);
}

TEST(CellFilter, TakesNamesTogetherAndRepeatedNamesAsAlternatives) {
  const CellRecord c = cell({{"order", "lba"}, {"merge", "device"}});
  EXPECT_TRUE(matches(c, {}));
  EXPECT_TRUE(matches(c, {{"order", "lba"}, {"merge", "device"}}));
  EXPECT_TRUE(matches(c, {{"order", "random"}, {"order", "lba"}}));
  EXPECT_FALSE(matches(c, {{"order", "lba"}, {"merge", "none"}}));
  EXPECT_FALSE(matches(c, {{"unheard", "of"}}));
}

TEST(DiskLabel, SaysWhatIsEmulated) {
  HostRecord host;
  host.device = "/dev/loop0";
  EXPECT_EQ(disk_label(host), "loop0");
  host.device_model = "QEMU disk";
  EXPECT_EQ(disk_label(host), "loop0 (QEMU disk)");
  host.device_model = "emulated hdd-7200 x1";
  EXPECT_EQ(disk_label(host), "hdd-7200 (emulated)");
  host.device_model = "emulated hdd-7200 x10";
  EXPECT_EQ(disk_label(host), "hdd-7200 x10 (emulated)");
  host.device_label = "slow";
  EXPECT_EQ(disk_label(host), "slow");
}

CeilingRecord ceiling(std::uint32_t round, const std::string& kind, double bytes_per_s) {
  CeilingRecord c;
  c.round = round;
  c.kind = kind;
  c.request_bytes = kind == "sequential" ? 1 << 20 : 4096;
  c.depth = 32;
  c.bytes_per_s = bytes_per_s;
  c.reads_per_s = bytes_per_s / static_cast<double>(c.request_bytes);
  c.samples_per_byte = 1;
  return c;
}

TEST(Summary, BaselineRatioAndCeilingStayWithinADisk) {
  SummaryInput input;
  for (const std::string disk : {"fast", "slow"}) {
    const auto id = static_cast<std::int64_t>(input.cells.size());
    input.cells.push_back({id + 1, cell({{"disk", disk}, {"order", "random"}, {"merge", "none"}})});
    input.cells.push_back({id + 2, cell({{"disk", disk}, {"order", "lba"}, {"merge", "none"}})});
    const std::int64_t slower = disk == "slow" ? 1000 : 1;
    for (std::uint32_t repeat = 0; repeat < 6; ++repeat) {
      input.runs.push_back(run(id + 1, repeat, 6'000'000 * slower * slower));
      input.runs.push_back(run(id + 2, repeat, 3'000'000 * slower));
    }
    input.ceilings[disk] = {ceiling(0, "sequential", 8.192e9 / static_cast<double>(slower))};
  }
  const auto cells = summarize(input);
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_TRUE(cells[0].baseline && cells[2].baseline);
  EXPECT_FALSE(cells[1].baseline || cells[3].baseline);
  EXPECT_NEAR(cells[1].ratio->value, 2, 1e-9);
  EXPECT_NEAR(cells[3].ratio->value, 2000, 1e-6);
  EXPECT_NEAR(cells[1].ceiling_share.value_or(0), cells[3].ceiling_share.value_or(1), 1e-9);
  EXPECT_EQ(cells[3].label, "slow + lba");
}

SummaryInput two_cells() {
  SummaryInput input;
  input.cells = {{1, cell({{"order", "lba"}, {"merge", "none"}})},
                 {2, cell({{"order", "random"}, {"merge", "none"}})}};
  for (std::uint32_t repeat = 0; repeat < 6; ++repeat) {
    input.runs.push_back(run(1, repeat, 500'000'000 + repeat * 1'000));
    input.runs.push_back(run(2, repeat, 1'000'000'000 + repeat * 3'000));
  }
  input.ceilings[""] = {ceiling(0, "sequential", 81'920'000), ceiling(0, "random", 1e12)};
  return input;
}

// A run that only reads has one lane, of which everything is exposed.
TEST(Summary, TellsOfTheStagesWhereThereIsMoreThanReading) {
  for (const std::size_t lanes : {1U, 2U, 3U}) {
    SummaryInput input;
    input.cells = {{1, cell({{"order", "lba"}})}};
    input.runs = {run(1, 0, 1'000'000)};
    AccountRecord account;
    account.wall_ns = 1000;
    account.ideal_ns = 800;
    for (const char* lane : {"read", "copy", "compute"}) {
      if (account.lanes.size() < lanes) {
        LaneRecord& made = account.lanes.emplace_back();
        made.lane = lane;
        made.exposed_ns = 250;
        made.stalls = {{"read", 100}};
      }
    }
    input.runs[0].run.account = account;
    const CellSummary found = summarize(input).at(0);
    EXPECT_EQ(found.exposed_copy.has_value(), lanes > 1);
    EXPECT_EQ(found.ideal_share.has_value(), lanes > 1);
    EXPECT_EQ(found.stalls.size(), lanes > 1 ? 1U : 0U);
    if (lanes > 1) {
      EXPECT_DOUBLE_EQ(*found.exposed_copy, 0.25);
      EXPECT_DOUBLE_EQ(*found.ideal_share, 0.8);
      EXPECT_EQ(found.stalled_lane, account.lanes.back().lane);
      EXPECT_DOUBLE_EQ(found.stalls.at("read"), 0.1);
    }
  }
}

TEST(Summary, ComparesWithRandomUnlessToldOtherwise) {
  const auto cells = summarize(two_cells());
  EXPECT_TRUE(cells[1].baseline);
  EXPECT_FALSE(cells[1].ratio);
  EXPECT_NEAR(cells[0].ratio->value, 2.0, 1e-4);
  EXPECT_TRUE(cells[0].differs());
  EXPECT_EQ(cells[0].ratio->pairs, 6U);
  EXPECT_NEAR(*cells[0].ceiling_share, 0.1, 1e-6) << "of the sequential ceiling";
  EXPECT_NE(summary_text(cells).find(summary_numbers(cells[0]).at(1).second), std::string::npos);
  SummaryInput other = two_cells();
  other.baseline = {{"order", "lba"}};
  EXPECT_NEAR(summarize(other)[1].ratio->value, 0.5, 1e-4);
}

// Of a table of one depth the ratios are not to another depth's baseline.
TEST(Summary, OfSeveralBaselinesOneThatIsShownCountsAndRatiosNameIt) {
  SummaryInput input = two_cells();
  input.baseline = {{"merge", "none"}};
  EXPECT_EQ(summarize(input)[1].ratio_to, summarize(input)[0].label);
  input.shown = {{"order", "random"}};
  EXPECT_TRUE(summarize(input)[1].baseline);
  input.shown = {{"order", "path"}};
  EXPECT_TRUE(summarize(input)[0].baseline) << "one that is not shown, rather than none";
}

// Issue 10, referee: a set of sparse files ran at 815 % of its ceiling, one of tiny files at 4 %.
TEST(Summary, TheShareOfTheCeilingCountsWhatTheDeviceHasToGive) {
  SummaryInput input = two_cells();
  for (CeilingRecord& c : input.ceilings[""]) {
    c.samples_per_byte = 8;  // seven eighths are holes
  }
  EXPECT_NEAR(*summarize(input)[0].ceiling_share, 0.1 / 8, 1e-6);
  EXPECT_NE(ceilings_text(input.ceilings).find("stands for 8.00"), std::string::npos);
  for (CeilingRecord& c : input.ceilings[""]) {
    c.samples_per_byte = std::nullopt;
  }
  EXPECT_FALSE(summarize(input)[0].ceiling_share) << "part of the data has no address";
}

// Issue 10, referee: 122 % of the ceiling in cells that read nothing from the device.
TEST(Summary, WhatThePageCacheGaveHasNoShareOfTheCeiling) {
  SummaryInput input = two_cells();
  for (StoredRun& r : input.runs) {
    r.run.device_bytes = r.run.bytes;
  }
  EXPECT_TRUE(summarize(input)[0].ceiling_share);
  for (StoredRun& r : input.runs) {
    r.run.device_bytes = r.run.bytes / 4;  // the first of four epochs
  }
  EXPECT_FALSE(summarize(input)[0].ceiling_share);
}

// A cache that answered in one round, or many sessions, must not raise what results are held to.
TEST(Summary, TheCeilingIsTheMedianOfTheRounds) {
  SummaryInput input = two_cells();
  auto& all = input.ceilings[""];
  all.push_back(ceiling(1, "sequential", 900e6));
  all.push_back(ceiling(2, "sequential", 70e6));
  const auto cells = summarize(input);
  EXPECT_NEAR(*cells[0].ceiling_share, 0.1, 1e-6);
  const auto figures = ceiling_figures(all);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].rounds, 3U);
  EXPECT_EQ(figures[0].median, 81'920'000);
  EXPECT_EQ(figures[0].least, 70e6);
  EXPECT_EQ(figures[0].greatest, 900e6);
  EXPECT_NE(ceilings_text(input.ceilings).find("78.1 MiB/s (median of 3 rounds, 66.8..858.3)"),
            std::string::npos)
      << ceilings_text(input.ceilings);
}

TEST(Summary, LeavesIncompleteRunsOutAndSaysHowManyAndWhy) {
  SummaryInput input = two_cells();
  input.runs[0].run.incomplete = true;
  input.runs[0].run.incomplete_reason = "12 probe events lost";
  const auto cells = summarize(input);
  EXPECT_EQ(cells[0].runs, 5U);
  EXPECT_EQ(cells[0].incomplete, 1U);
  EXPECT_EQ(cells[0].ratio->pairs, 5U) << "its twin has no partner";
  EXPECT_EQ(cells[1].runs, 6U);
  EXPECT_NE(summary_text(cells).find("left out of lba: 12 probe events lost"), std::string::npos);
}

TEST(Summary, CountsTheNewestRunOfARepeat) {
  SummaryInput input = two_cells();
  StoredRun again = run(1, 0, 250'000'000);
  again.id = 999;
  input.runs.push_back(again);
  const auto counted = counted_runs(input.runs, 1);
  ASSERT_EQ(counted.size(), 6U);
  EXPECT_EQ(counted[0]->id, 999);
}

TEST(Summary, NothingIsKnownOfACellWithoutRuns) {
  SummaryInput input = two_cells();
  input.runs.clear();
  const auto cells = summarize(input);
  EXPECT_FALSE(cells[0].samples_per_s || cells[0].ratio || cells[0].depth_mean);
  EXPECT_NE(summary_text(cells).find("lba"), std::string::npos);
}

// Repeats are numbered on when a sweep goes on in another session; what ran on two days is no pair.
TEST(Summary, PairsRunsOfOneSessionOnly) {
  SummaryInput input = two_cells();
  for (StoredRun& r : input.runs) {
    r.run.session_id = r.run.repeat < 4 || r.cell_id == 1 ? 1 : 2;
  }
  const auto cells = summarize(input);
  EXPECT_TRUE(cells[0].ratio->pairs == 4 && cells[0].split == 2);
  EXPECT_FALSE(cells[0].differs()) << "four pairs bear no verdict";
  const auto split = summary_text(cells).find("lba: 2 rounds split between sessions");
  EXPECT_NE(summary_text(cells).find("use --repeats 7", split), std::string::npos);
}

TEST(Summary, RunsOfAnUnknownSessionAreNoPairs) {
  SummaryInput input = two_cells();
  for (StoredRun& r : input.runs) {
    r.run.session_id.reset();
  }
  EXPECT_FALSE(summarize(input)[0].ratio);
}

// Ten cells against one baseline: what one comparison alone would show, ten do not.
TEST(Summary, HoldsAllVerdictsOfABaselineTogether) {
  SummaryInput input = two_cells();
  const auto noisy = [](std::uint32_t repeat) { return (repeat % 2 == 0 ? 1 : -1) * 40'000'000; };
  input.runs.clear();
  for (std::uint32_t repeat = 0; repeat < 6; ++repeat) {
    input.runs.push_back(run(2, repeat, 1'000'000'000));
    input.runs.push_back(run(1, repeat, 950'000'000 + noisy(repeat)));
  }
  EXPECT_TRUE(summarize(input)[0].differs());
  for (std::int64_t id = 3; id < 12; ++id) {
    input.cells.push_back({id, cell({{"order", "lba"}, {"depth", std::to_string(id)}})});
    for (std::uint32_t repeat = 0; repeat < 6; ++repeat) {
      input.runs.push_back(run(id, repeat, 1'000'000'000 + noisy(repeat + 1)));
    }
  }
  const auto cells = summarize(input);
  EXPECT_EQ(cells[0].verdict.finding, Finding::not_shown);
  EXPECT_GT(*cells[0].verdict.detectable, 0.05);
}

TEST(SummaryText, GivesNoIntervalAndNoVerdictFromFewPairs) {
  SummaryInput input = two_cells();
  input.runs = {run(1, 0, 100), run(2, 0, 201), run(1, 1, 101),
                run(2, 1, 200), run(1, 2, 100), run(2, 2, 199)};
  const std::string text = summary_text(summarize(input));
  for (const char* word : {"faster", "slower", "not shown", "[1.9"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << text;
  }
  EXPECT_NE(text.find("3 pairs: no interval and no verdict from fewer than 5"), std::string::npos);
  EXPECT_TRUE(text.starts_with("cell ")) << text;
}

TEST(SummaryText, SaysWhatCouldHaveBeenShownWhereNothingWas) {
  SummaryInput input = two_cells();
  input.runs.clear();
  for (std::uint32_t repeat = 0; repeat < 6; ++repeat) {
    input.runs.push_back(run(1, repeat, 1'000'000 + repeat % 3 * 20'000));
    input.runs.push_back(run(2, repeat, 1'000'000 + repeat % 2 * 20'000));
  }
  const std::string text = summary_text(summarize(input));
  EXPECT_NE(text.find("not shown (needs "), std::string::npos) << text;
  EXPECT_EQ(text.find("equal"), std::string::npos) << "nobody tested that";
  input.margin = 0.1;
  EXPECT_NE(summary_text(summarize(input)).find("not shown; equal"), std::string::npos);
}

TEST(Csv, QuotesAndKeepsUnknownEmpty) {
  SummaryInput input = two_cells();
  input.cells[0].cell.settings.emplace_back("note", "a \"b\", c");
  const std::string csv = cells_csv(summarize(input));
  EXPECT_EQ(csv.find("cell_id,label,baseline,runs,incomplete,samples_per_s,samples_per_s_least"),
            0U);
  EXPECT_NE(csv.find("\"a \"\"b\"\", c\""), std::string::npos);
  EXPECT_NE(csv.find(",,"), std::string::npos);
}

// Issue 11, review: a copied database may hold text that a spreadsheet takes for a formula.
TEST(Csv, TextThatLooksLikeAFormulaIsText) {
  SummaryInput input = two_cells();
  input.cells[0].cell.settings.emplace_back("note", "=HYPERLINK(0)");
  input.cells[1].cell.settings.emplace_back("note", "-");
  const std::string csv = cells_csv(summarize(input));
  EXPECT_NE(csv.find(",'=HYPERLINK(0)"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("'-"), std::string::npos) << "none";
}

TEST(Csv, WhatWouldActOnATerminalIsShown) {
  SummaryInput input = two_cells();
  input.cells[0].cell.settings.emplace_back("note", "\x1b[2Jred\nline");
  const auto cells = summarize(input);
  const std::string csv = cells_csv(cells) + runs_csv(cells, input.runs);
  EXPECT_EQ(csv.find('\x1b'), std::string::npos);
  EXPECT_NE(csv.find("\\x1b[2Jred\\x0aline"), std::string::npos) << csv;
  EXPECT_EQ(cells[0].label.find('\x1b'), std::string::npos);
}

TEST(Csv, EveryLineHasAsManyFieldsAsTheHeading) {
  const SummaryInput input = two_cells();
  const auto cells = summarize(input);
  for (const std::string& csv : {cells_csv(cells), runs_csv(cells, input.runs)}) {
    std::vector<std::ptrdiff_t> commas;
    for (std::size_t at = 0; at < csv.size();) {
      const std::size_t end = csv.find('\n', at);
      commas.push_back(std::count(csv.begin() + static_cast<std::ptrdiff_t>(at),
                                  csv.begin() + static_cast<std::ptrdiff_t>(end), ','));
      at = end + 1;
    }
    EXPECT_GT(commas.size(), 2U);
    EXPECT_EQ(std::count(commas.begin(), commas.end(), commas[0]),
              static_cast<std::ptrdiff_t>(commas.size()));
  }
}

}  // namespace
}  // namespace blksweep
