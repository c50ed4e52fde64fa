// The numbers of a cell that a paper quotes.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "store/summary/summary.h"

namespace blksweep {
namespace {

std::map<std::string, std::string> numbers_of(const CellSummary& cell) {
  const SummaryTexts texts = summary_numbers(cell);
  return {texts.begin(), texts.end()};
}

TEST(SummaryNumbers, AnEstimateHasItsPairsAndBothIntervals) {
  PairedRatio ratio{.pairs = 6, .value = 2};
  ratio.interval = Interval{1.5, 2.5};
  ratio.ranked = Interval{1.25, 3};
  CellSummary cell;
  cell.ratio = cell.twins.ratio = cell.twins.plain_ratio = ratio;
  const auto numbers = numbers_of(cell);
  for (const std::string name : {"ratio", "fio_ratio", "fio_plain_ratio"}) {
    EXPECT_EQ(numbers.at(name), "2.00");
    EXPECT_EQ(numbers.at(name + "_pairs"), "6");
    EXPECT_EQ(numbers.at(name + "_low"), "1.50");
    EXPECT_EQ(numbers.at(name + "_high"), "2.50");
    EXPECT_EQ(numbers.at(name + "_ranked_low"), "1.25");
    EXPECT_EQ(numbers.at(name + "_ranked_high"), "3.00");
  }
}

TEST(SummaryNumbers, ALevelHasItsLeastAndGreatest) {
  CellSummary cell;
  cell.samples_per_s = Level{2000, 1000, 3000};
  cell.bytes_per_s = Level{2 << 20, 1 << 20, 3 << 20};
  cell.transfer_rate = Level{12e9, 11e9, 13e9};
  cell.hidden_transfer = Level{0.5, 0.25, 0.75};
  const auto numbers = numbers_of(cell);
  EXPECT_EQ(numbers.at("samples_per_s"), "2,000");
  EXPECT_EQ(numbers.at("samples_per_s_least"), "1,000");
  EXPECT_EQ(numbers.at("samples_per_s_greatest"), "3,000");
  EXPECT_EQ(numbers.at("mib_per_s"), "2.00");
  EXPECT_EQ(numbers.at("mib_per_s_least"), "1.00");
  EXPECT_EQ(numbers.at("mib_per_s_greatest"), "3.00");
  EXPECT_EQ(numbers.at("transfer_gb_per_s_least"), "11.0");
  EXPECT_EQ(numbers.at("hidden_transfer_greatest"), "75.0 %");
}

TEST(SummaryNumbers, AMedianHasItsUnit) {
  CellSummary cell;
  cell.verdict.detectable = 0.03;
  cell.twins.requests = 4096;
  cell.twins.twin_requests = 2048;
  cell.ceiling_share = 0.75;
  cell.first_batch_ns = 2e6;
  cell.depth_mean = 31.5;
  cell.requests_issued = 1234;
  cell.device_fallbacks = 17;
  cell.read_amplification = 1.25;
  cell.utilisation = 0.9;
  cell.exposed_copy = 0.125;
  cell.copy_cpu_ns_per_part = 5e3;
  cell.ideal_share = 0.8;
  cell.prediction_epoch_ns = 3e9;
  cell.prediction_error = -0.05;
  cell.quality.displacement = 0.25;
  cell.quality.label_mix = 0.5;
  const auto numbers = numbers_of(cell);
  const std::map<std::string, std::string> wanted = {
      {"detectable", "3.0 %"},      {"device_requests", "4,096"}, {"fio_requests", "2,048"},
      {"ceiling_share", "75 %"},    {"first_batch", "2 ms"},      {"depth_mean", "31.5"},
      {"requests_issued", "1,234"}, {"device_fallbacks", "17"},   {"read_amplification", "1.25"},
      {"utilisation", "90 %"},      {"exposed_copy", "12.5 %"},   {"copy_cpu", "5 us"},
      {"ideal_share", "80 %"},      {"prediction", "3 s"},        {"prediction_error", "-5.0 %"},
      {"displacement", "0.25"},     {"label_mix", "0.50"}};
  for (const auto& [name, text] : wanted) {
    ASSERT_TRUE(numbers.contains(name)) << name;
    EXPECT_EQ(numbers.at(name), text) << name;
  }
}

TEST(SummaryNumbers, WhatIsUnknownHasNoNumberAndNoNameStandsTwice) {
  CellSummary cell;
  cell.runs = 3;
  const SummaryTexts texts = summary_numbers(cell);
  std::set<std::string> names;
  for (const auto& [name, text] : texts) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_NE(text, "-") << name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"n", "left_out"}));
}

SummaryInput three_runs() {
  SummaryInput input;
  input.cells = {{1, {{{"order", "lba"}}}}};
  for (std::uint32_t repeat = 0; repeat < 3; ++repeat) {
    StoredRun& r = input.runs.emplace_back();
    r.id = repeat;
    r.cell_id = 1;
    r.run.repeat = repeat;
    r.run.samples = 10;
    r.run.epoch_ns = 1000;
  }
  return input;
}

// Runs that waited for different things each time: medians of causes have another sum.
TEST(SummaryNumbers, WhatALaneStandsStillIsTheMedianOfTheWhole) {
  SummaryInput input = three_runs();
  const std::int64_t storage[] = {0, 100, 500}, copy[] = {400, 300, 0};
  for (std::size_t r = 0; r < 3; ++r) {
    AccountRecord& account = input.runs[r].run.account.emplace();
    account.wall_ns = 1000;
    account.lanes.resize(2);
    account.lanes[1].lane = "compute";
    account.lanes[1].stalls = {{"storage", storage[r]}, {"copy", copy[r]}};
  }
  const std::vector<CellSummary> cells = summarize(input);
  EXPECT_DOUBLE_EQ(*cells[0].stalled, 0.4) << "of 40 %, 40 % and 50 %";
  EXPECT_NE(summary_text(cells).find("lba: compute stands still 40.0 % of the epoch: copy 30.0 %, "
                                     "storage 10.0 % (each its own median)"),
            std::string::npos)
      << summary_text(cells);
}

TEST(SummaryNumbers, PredictionsOfTwoModelsHaveNoMedian) {
  SummaryInput input = three_runs();
  for (StoredRun& r : input.runs) {
    PredictionRecord& p = r.run.prediction.emplace();
    p.model = "disk";
    p.model_hash = "1";
    p.epoch_ns = 900;
    p.error = -0.1;
  }
  EXPECT_EQ(summarize(input)[0].prediction_epoch_ns, 900);
  input.runs[2].run.prediction->model_hash = "2";  // the same name, other numbers
  const std::vector<CellSummary> cells = summarize(input);
  EXPECT_EQ(cells[0].prediction_epoch_ns, std::nullopt);
  EXPECT_EQ(cells[0].prediction_error, std::nullopt);
  EXPECT_NE(summary_text(cells).find("lba: its runs have predictions of several models (disk)"),
            std::string::npos);
}

TEST(SummaryNumbers, APeerThatWasRenewedBetweenSessionsIsTold) {
  SummaryInput input = three_runs();
  for (StoredRun& r : input.runs) {
    r.run.peer_reads = "files";
    r.run.engine_features = "torch 2.1";
  }
  EXPECT_TRUE(summarize(input)[0].mixed.empty());
  input.runs[1].run.engine_features = "torch 2.2";
  EXPECT_NE(summary_text(summarize(input)).find("several programs (torch 2.1, torch 2.2)"),
            std::string::npos);
  input.runs[0].run.peer_reads = input.runs[1].run.peer_reads = std::nullopt;
  EXPECT_TRUE(summarize(input)[0].mixed.empty()) << "features of our own engine are facts of a run";
}

TEST(SummaryNumbers, TransfersAreTakenApartWhereAllOfThemIsKnown) {
  CellSummary cell;
  cell.label = "pinned";
  cell.hidden_transfer = Level{0.982, 0.979, 0.984};
  cell.exposed_transfer = Level{0.001, 0.001, 0.002};
  EXPECT_EQ(summary_text({cell}).find("transfers at"), std::string::npos);
  cell.transfer_rate = Level{11.9e9, 11e9, 12e9};
  cell.fed_gap_ns = Level{3000, 2000, 4000};
  EXPECT_NE(
      summary_text({cell}).find(
          "pinned: transfers at 11.9 GB/s, 98.2 % (97.9..98.4) of their time behind kernels, "
          "0.1 % (0.1..0.2) of the epoch exposed; 3 us between kernels whose data were there"),
      std::string::npos)
      << summary_text({cell});
}

}  // namespace
}  // namespace blksweep
