// What a fault of the copy stage or the consumer, or a stop while they work, costs a sweep: the run
// it happens in, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <thread>

#include "experiment/experiment.h"
#include "store/result_reader.h"
#include "support/faulty_stages.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kFiles = 60, kFaultBatch = 16, kFaultBatches = 4;
constexpr std::chrono::hours kForever{1};

class StageFaults : public ::testing::Test {
 protected:
  StageFaults() {
    for (std::uint32_t f = 0; f < kFiles; ++f) {
      data_.write("f" + std::to_string(f), std::string(500 + 37 * f, static_cast<char>('a' + f)));
    }
    auto opened = open_source({data_.path(), ""});
    EXPECT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    settings_.verify = true;
    settings_.probe = false;
    settings_.key = "faults";
    settings_.progress = &progress_;
  }

  static CellSettings cell(CopyKind copy, ConsumerKind consumer) {
    CellSettings c;
    c.order = Order::path;
    c.engine = EngineKind::psync;
    c.direct = false;
    c.batch = kFaultBatch;
    c.copy = copy;
    c.consumer = consumer;
    c.compute.mean = Nanos{1};
    return c;
  }
  void add_cell(const char* name, const CellSettings& settings) {
    settings_.cells.push_back({settings, {{{"name", name}}}, {}});
  }
  void add_gpu_cell() { add_cell("gpu", cell(CopyKind::cuda, ConsumerKind::cuda)); }
  void add_emulated_cell() {
    add_cell("emulated", cell(CopyKind::emulated, ConsumerKind::emulated));
  }

  Result<Exit> run() {
    settings_.makers = faulty_makers(plan_, trace_);
    BLKSWEEP_TRY(ResultStore store, ResultStore::open(db_.path("r.db")));
    return run_experiment(
        source_, settings_, &store, [](const RunEvent&) {}, stop_);
  }

  // The stored runs of a cell, oldest first.
  std::vector<RunRecord> stored(const std::string& name) {
    std::vector<RunRecord> out;
    auto reader = ResultReader::open(db_.path("r.db"));
    EXPECT_TRUE(reader) << reader.error().message();
    const std::int64_t experiment = reader->experiments()->back().id;
    std::int64_t id = -1;
    const auto cells = reader->cells(experiment);
    for (const StoredCell& c : *cells) {
      id = c.cell.settings.front().second == name ? c.id : id;
    }
    auto runs = reader->runs(experiment);
    for (StoredRun& r : *runs) {
      if (r.cell_id == id) {
        r.run.batches = *reader->batches(r.id);
        out.push_back(std::move(r.run));
      }
    }
    return out;
  }

  // What is kept of a run that did not end: whole batches, all right, and an account of them.
  static void expect_partial(const RunRecord& run, std::string_view reason) {
    EXPECT_TRUE(run.incomplete);
    EXPECT_TRUE(run.incomplete_reason.starts_with(reason)) << run.incomplete_reason;
    EXPECT_EQ(run.incomplete_reason.find('\n'), std::string::npos);
    EXPECT_EQ(run.incomplete_reason.find("account"), std::string::npos) << run.incomplete_reason;
    EXPECT_GT(run.samples, 0U);
    EXPECT_EQ(run.samples, run.batches.size() * kFaultBatch);
    EXPECT_EQ(run.samples + run.missing_samples, kFiles);
    EXPECT_EQ(run.wrong_samples, 0U);
    EXPECT_GT(run.bytes, 0U);
    EXPECT_TRUE(run.account);
  }
  static void expect_complete(const RunRecord& run) {
    EXPECT_FALSE(run.incomplete) << run.incomplete_reason;
    EXPECT_EQ(run.samples, kFiles);
    EXPECT_EQ(run.wrong_samples, 0U);
  }
  void expect_nothing_in_flight() const { EXPECT_EQ(trace_.finished, trace_.begun); }

  // Stops the sweep, as SIGINT does, once that holds.
  template <class Condition>
  std::jthread stop_when(Condition holds) {
    return std::jthread([this, holds](const std::stop_token& done) {
      while (!done.stop_requested() && !holds()) {
        std::this_thread::yield();
      }
      stop_.store(true);
    });
  }

  TempDir data_, db_;
  Source source_;
  ExperimentSettings settings_;
  Progress progress_;
  FaultPlan plan_;
  FaultTrace trace_;
  std::atomic<bool> stop_{false};
};

TEST_F(StageFaults, CostTheirRunOnly) {
  struct Case {
    std::uint32_t FaultPlan::*where;
    const char* reason;
  };
  for (const Case& c : {Case{&FaultPlan::at_begin, "begin of batch 2: made to fail"},
                        Case{&FaultPlan::at_finish, "copy of batch 2: made to fail"},
                        Case{&FaultPlan::at_consume, "kernel of batch 2: made to fail"}}) {
    settings_.cells.clear();
    settings_.key = c.reason;
    add_gpu_cell();
    add_emulated_cell();
    settings_.repeats = 2;
    plan_ = {};
    plan_.*c.where = 2;
    const auto ended = run();
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(*ended, Exit::incomplete);
    const std::vector<RunRecord> faulty = stored("gpu");
    ASSERT_EQ(faulty.size(), 2U);
    for (const RunRecord& run : faulty) {
      expect_partial(run, c.reason);
    }
    const std::vector<RunRecord> healthy = stored("emulated");
    ASSERT_EQ(healthy.size(), 2U);
    std::ranges::for_each(healthy, expect_complete);
    expect_nothing_in_flight();
  }
}

TEST_F(StageFaults, AtTheFirstBatchLeaveARunWithoutSamplesAndItsReason) {
  add_gpu_cell();
  plan_.at_finish = 0;
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::incomplete);
  const std::vector<RunRecord> runs = stored("gpu");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0].incomplete_reason.starts_with("copy of batch 0: made to fail"));
  EXPECT_EQ(runs[0].samples, 0U);
  EXPECT_EQ(runs[0].missing_samples, kFiles);
  EXPECT_GT(trace_.bytes, 0U);
  expect_nothing_in_flight();
}

TEST_F(StageFaults, AreMeasuredAgainByALaterStart) {
  add_gpu_cell();
  add_emulated_cell();
  plan_.at_consume = 1;
  ASSERT_TRUE(run());
  plan_ = {};
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::done);
  ASSERT_EQ(stored("gpu").size(), 2U);
  expect_complete(stored("gpu")[1]);
  EXPECT_EQ(stored("emulated").size(), 1U);
}

TEST_F(StageFaults, ThatAreStickyLeaveOutTheRunsThatNeedTheGpu) {
  add_gpu_cell();
  add_emulated_cell();
  settings_.repeats = 4;
  plan_.at_consume = 2;
  plan_.loses_gpu = true;
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::incomplete);
  ASSERT_EQ(stored("gpu").size(), 1U);
  expect_partial(stored("gpu")[0], "kernel of batch 2");
  const std::vector<RunRecord> healthy = stored("emulated");
  ASSERT_EQ(healthy.size(), 4U);
  std::ranges::for_each(healthy, expect_complete);
}

TEST_F(StageFaults, OfMakingAStageCostItsRunOnly) {
  add_gpu_cell();
  add_emulated_cell();
  plan_.refusal = "the GPU has no 9 GiB left: use a smaller --batch";
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::incomplete);
  ASSERT_EQ(stored("gpu").size(), 1U);
  EXPECT_EQ(stored("gpu")[0].incomplete_reason, plan_.refusal);
  EXPECT_EQ(stored("gpu")[0].missing_samples, kFiles);
  EXPECT_FALSE(stored("gpu")[0].wrong_samples);
  ASSERT_EQ(stored("emulated").size(), 1U);
  expect_complete(stored("emulated")[0]);
}

TEST_F(StageFaults, ThatAreKnownBeforehandRefuseTheSweep) {
  add_emulated_cell();
  add_gpu_cell();
  settings_.makers = faulty_makers(plan_, trace_);
  settings_.makers.check = [](const LoaderSettings& c) -> Result<> {
    return needs_gpu(c) ? unsupported("no GPU can be used") : Result<>();
  };
  auto store = ResultStore::open(db_.path("r.db"));
  ASSERT_TRUE(store);
  std::size_t runs = 0;
  const auto ended = run_experiment(
      source_, settings_, &*store, [&](const RunEvent&) { ++runs; }, stop_);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().exit_code, Exit::unsupported);
  EXPECT_EQ(runs, 0U);
}

TEST_F(StageFaults, OfTheCopyWakeAConsumerThatTakesForever) {
  CellSettings slow = cell(CopyKind::cuda, ConsumerKind::emulated);
  slow.compute.mean = kForever;
  add_cell("gpu", slow);
  plan_.at_finish = 1;
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::incomplete);
  ASSERT_EQ(stored("gpu").size(), 1U);
  EXPECT_TRUE(stored("gpu")[0].incomplete_reason.starts_with("copy of batch 1: made to fail"));
}

TEST_F(StageFaults, OfTheConsumerWakeACopyThatTakesForever) {
  add_gpu_cell();
  plan_.forever = 2;
  plan_.at_consume = 1;
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::incomplete);
  ASSERT_EQ(stored("gpu").size(), 1U);
  expect_partial(stored("gpu")[0], "kernel of batch 1: made to fail");
  expect_nothing_in_flight();
}

// The last batch is the smaller one, and only it takes forever.
TEST_F(StageFaults, AStopWakesASlowConsumerAndKeepsWhatWasConsumed) {
  CellSettings slow = cell(CopyKind::emulated, ConsumerKind::emulated);
  slow.compute.table = {{kFiles % kFaultBatch, kForever}, {kFaultBatch, Nanos{1}}};
  add_cell("slow", slow);
  const std::jthread sigint = stop_when([this] { return progress_.samples == kFiles; });
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::interrupted);
  ASSERT_EQ(stored("slow").size(), 1U);
  expect_partial(stored("slow")[0], "interrupted");
  EXPECT_EQ(stored("slow")[0].batches.size(), kFaultBatches - 1);
}

// 1 B/s: the first copy is under way for hours, and nothing of the run is worth keeping.
TEST_F(StageFaults, AStopWakesASlowCopy) {
  CellSettings slow = cell(CopyKind::emulated, ConsumerKind::emulated);
  slow.copy_tuning.bandwidth = {1};
  add_cell("slow", slow);
  const std::jthread sigint = stop_when(
      [this] { return std::string_view(progress_.phase) == std::string_view("reading"); });
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::interrupted);
  EXPECT_EQ(stored("slow").size(), 0U);
}

TEST_F(StageFaults, AStopWithCopiesInFlightWaitsForThem) {
  add_gpu_cell();
  plan_.begun = [this](std::uint32_t batch) {
    if (batch == 2) {
      stop_.store(true);
    }
  };
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, Exit::interrupted);
  expect_nothing_in_flight();
  EXPECT_GE(trace_.begun, 3U);
}

// Everything was consumed: there is nothing that a later start would have to do again.
TEST_F(StageFaults, AStopBehindTheLastBatchCostsNothing) {
  add_emulated_cell();
  const std::jthread sigint = stop_when(
      [this] { return std::string_view(progress_.phase) == std::string_view("verifying"); });
  const auto ended = run();
  ASSERT_TRUE(ended) << ended.error().message();
  ASSERT_EQ(stored("emulated").size(), 1U);
  expect_complete(stored("emulated")[0]);
}

TEST_F(StageFaults, InTheWarmUpOfEitherStageBeginNoEpoch) {
  add_gpu_cell();
  for (const bool copy : {true, false}) {
    settings_.key = copy ? "cold copy" : "cold consumer";
    plan_.cold_copy = copy;
    plan_.cold_consumer = !copy;
    const auto ended = run();
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(*ended, Exit::incomplete);
    const std::vector<RunRecord> runs = stored("gpu");
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].samples, 0U);
    EXPECT_TRUE(runs[0].incomplete_reason.starts_with(copy ? "copy's warm-up: made to fail"
                                                           : "consumer's warm-up: made to fail"))
        << runs[0].incomplete_reason;
    EXPECT_EQ(trace_.begun, 0U);
  }
}

}  // namespace
}  // namespace blksweep
