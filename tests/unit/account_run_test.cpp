// The account of epochs that really ran, and of what the database says of them.
#include "lab/account_run.h"

#include <gtest/gtest.h>

#include "lab/epoch.h"
#include "store/json.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "support/demo_records.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::int64_t kCompute = 2'000'000;
constexpr std::int64_t kBatches = 10;

class AccountOfARun : public ::testing::Test {
 protected:
  AccountOfARun() {
    for (int f = 0; f < 160; ++f) {
      dir_.write("f" + std::to_string(f), std::string(8192, 'x'));
    }
    auto opened = open_source({dir_.path(), ""});
    EXPECT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    cell_.engine = EngineKind::psync;
    cell_.direct = false;
    cell_.batch = 16;
    cell_.consumer = ConsumerKind::emulated;
    cell_.compute = {Nanos{kCompute}, 0};
  }

  // A record as measure_run makes it, of the parts that an account needs.
  RunRecord run() {
    RunRecord r;
    auto planned = plan_cell(source_, cell_, 7);
    EXPECT_TRUE(planned) << planned.error().message();
    auto epoch = Epoch::prepare(source_, cell_, *planned, {.seed = 7});
    EXPECT_TRUE(epoch) << epoch.error().message();
    const auto outcome = (*epoch)->run(stop_);
    EXPECT_TRUE(outcome) << outcome.error().message();
    r.begin_ns = outcome->begin_ns;
    r.epoch_ns = outcome->end_ns - outcome->begin_ns;
    add_batches(r, **epoch, planned->schedule.batches());
    return r;
  }
  Account account(const RunRecord& r) const {
    Account a = account_run(r, stages_of(cell_));
    EXPECT_EQ(broken_identity(a), "");
    return a;
  }

  static Maybe<std::int64_t> known(std::int64_t ns) {
    return ns == 0 ? Maybe<std::int64_t>() : Maybe<std::int64_t>(ns);
  }
  static void add_batches(RunRecord& r, const Epoch& e, std::size_t batches) {
    for (std::size_t b = 0; b < batches; ++b) {
      const BatchTimes& in = e.reader().readiness().times()[b];
      const DeliveryTimes& out = e.delivery().times()[b];
      BatchRecord& x = r.batches.emplace_back();
      x.first_submit_ns = in.first_submit_ns;
      x.ready_ns = in.ready_ns;
      x.slot_wait_begin_ns = known(out.slot_wait_begin_ns);
      x.staging_begin_ns = known(out.staging_begin_ns);
      x.copy_begin_ns = known(out.copy_begin_ns);
      x.copy_end_ns = known(out.copy_end_ns);
      x.compute_begin_ns = known(out.compute_begin_ns);
      x.compute_end_ns = known(out.compute_end_ns);
      x.consumed_ns = out.consumed_ns;
    }
    for (const MemoryWait& w : e.reader().waits()) {
      r.read_waits.push_back({w.span.begin, w.span.end, w.consumed_batches});
    }
  }

  TempDir dir_;
  Source source_;
  CellSettings cell_;
  std::atomic<bool> stop_{false};
};

TEST_F(AccountOfARun, WithoutPrefetchTheReaderWaitsForTheConsumer) {
  cell_.prefetch = 0;
  for (const CopyKind copy : {CopyKind::none, CopyKind::host}) {
    cell_.copy = copy;
    const Account a = account(run());
    const LaneAccount& read = *a.lane(EpochLane::read);
    EXPECT_EQ(a.overlap, 0) << "strictly serial";
    EXPECT_GE(a.lane(EpochLane::compute)->busy, kBatches * kCompute);
    // At most the moment until the reader begins to wait is missing from each computation.
    EXPECT_GT(read.stall(Stall::consumer), (kBatches - 1) * kCompute / 2);
    EXPECT_GE(read.stall(Stall::done), kCompute) << "the last batch is computed";
  }
}

TEST_F(AccountOfARun, TheCopyStageWaitsForSlotsOfAConsumerThatTakesLonger) {
  cell_.prefetch = 2;
  cell_.copy = CopyKind::host;
  const Account a = account(run());
  const LaneAccount& copy = *a.lane(EpochLane::copy);
  EXPECT_EQ(a.longest, EpochLane::compute);
  // Two slots: the third batch waits for the first to be consumed, and so on.
  EXPECT_GT(copy.stall(Stall::staging), (kBatches - 2) * kCompute / 2);
  EXPECT_GT(copy.stall(Stall::done), 0);
}

// --device-slots 1: the next copy begins when the batch before is computed, however far the reader
// is.
TEST_F(AccountOfARun, ABlockingCopyIsExposedToTheLastNanosecond) {
  cell_.prefetch = 2;
  cell_.copy = CopyKind::emulated;
  cell_.copy_tuning.latency = Nanos{1'000'000};
  for (const Staging staging : {Staging::pinned, Staging::pageable, Staging::per_batch}) {
    cell_.copy_tuning.staging = staging;
    cell_.copy_tuning.slots = 1;
    const Account blocking = account(run());
    const LaneAccount& copy = *blocking.lane(EpochLane::copy);
    EXPECT_EQ(copy.hidden, 0);
    EXPECT_GE(copy.exposed, kBatches * 1'000'000);
    // Why: the slot is in use while its batch is computed, and the consumer waits for each copy.
    EXPECT_GT(copy.stall(Stall::staging), (kBatches - 1) * kCompute / 2);
    EXPECT_EQ(blocking.lane(EpochLane::compute)->stall(Stall::copy), copy.exposed);
    cell_.copy_tuning.slots = 2;
    EXPECT_GT(account(run()).lane(EpochLane::copy)->hidden, 0);
  }
}

TEST_F(AccountOfARun, WithoutAConsumerEverythingIsExposed) {
  cell_.consumer = ConsumerKind::none;
  const Account reading = account(run());
  ASSERT_EQ(reading.lanes.size(), 1U);
  EXPECT_EQ(reading.overlap, 0);
  EXPECT_EQ(reading.utilisation(), std::nullopt);
  EXPECT_GT(reading.lane(EpochLane::read)->busy, 0);
}

TEST_F(AccountOfARun, CanBeMadeAgainFromTheDatabase) {
  cell_.copy = CopyKind::host;
  cell_.prefetch = 1;
  RunRecord r = run();
  EXPECT_EQ(keep_account(r, stages_of(cell_)), "");
  EXPECT_FALSE(r.read_waits.empty());
  const std::string path = dir_.path() + "/results.db";
  auto store = ResultStore::open(path);
  ASSERT_TRUE(store);
  const auto experiment = store->begin_experiment(demo_host(), "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
  const auto id = store->add_run(*cell, r);
  ASSERT_TRUE(id) << id.error().message();
  auto reader = ResultReader::open(path);
  const auto runs = reader->runs(*experiment);
  ASSERT_TRUE(runs) << runs.error().message();
  RunRecord stored = runs->front().run;
  ASSERT_TRUE(stored.account);
  const Json before = run_json({}, stored)["account"];
  EXPECT_EQ(before, run_json({}, r)["account"]);
  EXPECT_EQ(stored.utilisation, r.utilisation);
  stored.batches = reader->batches(*id).value();
  stored.read_waits = reader->read_waits(*id).value();
  EXPECT_EQ(keep_account(stored, stages_of(cell_)), "");
  EXPECT_EQ(run_json({}, stored)["account"], before);
  EXPECT_EQ(stored.utilisation, r.utilisation);
}

TEST_F(AccountOfARun, ThatDoesNotAddUpSaysSo) {
  RunRecord r = run();
  r.batches[3].compute_end_ns = r.begin_ns + r.epoch_ns + 1;
  EXPECT_NE(keep_account(r, stages_of(cell_)), "");
}

}  // namespace
}  // namespace blksweep
