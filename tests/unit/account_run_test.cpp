// The account of epochs that really ran, and of what the database says of them.
#include "experiment/record/account_run.h"

#include <gtest/gtest.h>

#include <map>

#include "dataset/pack.h"
#include "experiment/record/batch_records.h"
#include "loader/epoch.h"
#include "store/export/json.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "support/demo_records.h"
#include "support/pipeline_clock.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

// Longer than the other stages, also under sanitizers and load.
constexpr std::int64_t kCompute = 20'000'000;
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
    auto planned = plan_epoch(source_, cell_, 7);
    EXPECT_TRUE(planned) << planned.error().message();
    auto epoch = Epoch::prepare(source_, cell_, *planned, {.seed = 7});
    EXPECT_TRUE(epoch) << epoch.error().message();
    const auto outcome = (*epoch)->run(stop_);
    EXPECT_TRUE(outcome) << outcome.error().message();
    r.begin_ns = outcome->begin_ns;
    r.epoch_ns = outcome->end_ns - outcome->begin_ns;
    record_batches(r, source_.catalog, *planned, **epoch);
    return r;
  }
  Account account(const RunRecord& r) const {
    Account a = account_run(r, lanes_of(cell_));
    EXPECT_EQ(broken_identity(a), "");
    return a;
  }

  // The same samples, packed, and decoded from now on.
  void pack() {
    PackSettings settings;
    settings.source = dir_.path();
    settings.directory = packed_.path("set");
    settings.encode.codec = Codec::zstd;
    const auto report = pack_dataset(settings, {}, stop_);
    ASSERT_TRUE(report) << report.error().message();
    auto opened = open_source({settings.directory, ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    cell_.decode_threads = 2;
  }

  TempDir dir_, packed_;
  Source source_;
  CellSettings cell_;
  std::atomic<bool> stop_{false};
};

TEST_F(AccountOfARun, WithoutPrefetchTheReaderWaitsForTheConsumer) {
  cell_.prefetch = 0;
  for (const CopyKind copy : {CopyKind::none, CopyKind::host}) {
    cell_.copy = copy;
    const Account a = account(run());
    const LaneAccount& read = *a.lane(Stage::read);
    EXPECT_EQ(a.overlap, 0) << "strictly serial";
    EXPECT_GE(a.lane(Stage::compute)->busy, kBatches * kCompute);
    // At most the moment until the reader begins to wait is missing from each computation.
    EXPECT_GT(read.stall(Stall::consumer), (kBatches - 1) * kCompute / 2);
    EXPECT_GE(read.stall(Stall::done), kCompute) << "the last batch is computed";
  }
}

TEST_F(AccountOfARun, TheCopyStageWaitsForSlotsOfAConsumerThatTakesLonger) {
  cell_.prefetch = 2;
  cell_.copy = CopyKind::host;
  const Account a = account(run());
  const LaneAccount& copy = *a.lane(Stage::copy);
  EXPECT_EQ(a.longest, Stage::compute);
  // Two slots: the third batch waits for the first to be consumed, and so on.
  EXPECT_GT(copy.stall(Stall::staging), (kBatches - 2) * kCompute / 2);
  EXPECT_GT(copy.stall(Stall::done), 0);
}

TEST_F(AccountOfARun, DecodingWaitsForSlotsOfAConsumerThatTakesLonger) {
  ASSERT_NO_FATAL_FAILURE(pack());
  cell_.prefetch = 4;
  for (const CopyKind copy : {CopyKind::none, CopyKind::emulated}) {
    cell_.copy = copy;
    const RunRecord r = run();
    const Account a = account(r);
    // Two slots on the accelerator, and before a copy stage one more of the decode ring.
    const std::int64_t free = copy == CopyKind::none ? 2 : 3;
    const LaneAccount& decode = *a.lane(Stage::decode);
    EXPECT_GT(decode.stall(Stall::staging), (kBatches - free) * kCompute / 2);
    EXPECT_EQ(r.copy_cost.has_value(), copy != CopyKind::none);
    if (r.copy_cost) {
      EXPECT_EQ(r.copy_cost->parts, 160U);
      EXPECT_EQ(r.copy_cost->bytes, 160U * 8192) << "as decoded";
    }
  }
}

TEST_F(AccountOfARun, WithoutPrefetchDecodingIsSerialToo) {
  ASSERT_NO_FATAL_FAILURE(pack());
  cell_.prefetch = 0;
  cell_.copy = CopyKind::host;
  const Account a = account(run());
  EXPECT_EQ(a.overlap, 0) << "strictly serial";
  EXPECT_EQ(a.lane(Stage::decode)->stall(Stall::staging), 0) << "its slot is free by then";
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
    const LaneAccount& copy = *blocking.lane(Stage::copy);
    EXPECT_EQ(copy.hidden > 0, staging == Staging::per_batch) << "only giving back is behind it";
    EXPECT_GE(copy.exposed, kBatches * 1'000'000);
    // Why: the slot is in use while its batch is computed, and the consumer waits for each copy.
    EXPECT_GT(copy.stall(Stall::staging), (kBatches - 1) * kCompute / 2);
    if (staging != Staging::per_batch) {  // whose last release may end behind the last kernel
      EXPECT_EQ(blocking.lane(Stage::compute)->stall(Stall::copy), copy.exposed);
    }
    cell_.copy_tuning.slots = 2;
    EXPECT_GT(account(run()).lane(Stage::copy)->hidden, 0);
  }
}

TEST_F(AccountOfARun, WithoutAConsumerEverythingIsExposed) {
  cell_.consumer = ConsumerKind::none;
  const Account reading = account(run());
  ASSERT_EQ(reading.lanes.size(), 1U);
  EXPECT_EQ(reading.overlap, 0);
  EXPECT_EQ(reading.utilisation(), std::nullopt);
  EXPECT_GT(reading.lane(Stage::read)->busy, 0);
}

TEST_F(AccountOfARun, StandsBesideItsOwnRunInTheDatabase) {
  RunRecord with = run();
  EXPECT_EQ(keep_account(with, lanes_of(cell_)), "");
  RunRecord without = with;
  without.account.reset();
  const std::string path = dir_.path() + "/results.db";
  auto store = ResultStore::open(path);
  ASSERT_TRUE(store);
  const auto experiment = store->begin_experiment(demo_host(), "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
  for (const RunRecord* r : {&without, &with, &without}) {
    ASSERT_TRUE(store->add_run(*cell, *r));
  }
  auto reader = ResultReader::open(path);
  const auto runs = reader->runs(*experiment);
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*runs)[i].run.account.has_value(), i == 1) << i;
  }
}

TEST_F(AccountOfARun, CanBeMadeAgainFromTheDatabase) {
  ASSERT_NO_FATAL_FAILURE(pack());
  cell_.copy = CopyKind::host;
  cell_.prefetch = 1;
  RunRecord r = run();
  EXPECT_EQ(keep_account(r, lanes_of(cell_)), "");
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
  ASSERT_TRUE(stored.copy_cost);
  EXPECT_EQ(stored.copy_cost->parts, r.copy_cost->parts);
  EXPECT_EQ(stored.copy_cost->bytes, r.copy_cost->bytes);
  EXPECT_EQ(stored.copy_cost->cpu_ns, r.copy_cost->cpu_ns);
  ASSERT_TRUE(stored.overlap);
  EXPECT_EQ(run_json({}, stored)["overlap"], run_json({}, r)["overlap"]);
  stored.device_work = reader->device_work(*id).value();
  EXPECT_EQ(stored.device_work.transfers, r.device_work.transfers);
  EXPECT_EQ(stored.device_work.kernels, r.device_work.kernels);
  stored.batches = reader->batches(*id).value();
  stored.read_waits = reader->read_waits(*id).value();
  EXPECT_EQ(keep_account(stored, lanes_of(cell_)), "");
  EXPECT_EQ(run_json({}, stored)["account"], before);
  EXPECT_EQ(stored.utilisation, r.utilisation);
}

// A stage that takes memory for each batch and gives it back: all of it is copying, and the batch
// is there before.
TEST(Account, OfTheCopyLaneLastsAsLongAsTheStageWorksAtTheBatch) {
  RunRecord r;
  r.epoch_ns = 100;
  r.batches.emplace_back().times = support::batch_times({{Stage::read, {0, 10}},
                                                         {Stage::copy, {15, 55}},
                                                         {Stage::transfer, {20, 55}},
                                                         {Stage::compute, {55, 70}},
                                                         {Stage::release, {56, 80}}},
                                                        100);
  EXPECT_EQ(keep_account(r, {.copy = true, .compute = true}), "");
  ASSERT_EQ(r.account->lanes[1].lane, "copy");
  EXPECT_EQ(r.account->lanes[1].busy_ns, 40 + 24);
  EXPECT_EQ(r.account->lanes[1].exposed_ns, 40 + 10);
  EXPECT_EQ(r.first_batch_ns, 55);
  const std::map<std::string, std::int64_t> phases(r.account->phases.begin(),
                                                   r.account->phases.end());
  EXPECT_EQ(phases.at("release"), 10);
  EXPECT_EQ(phases.at("held"), 20);
}

// Per-batch memory in front of an emulated link: given back behind the arrival, on the copy thread.
TEST_F(AccountOfARun, GivingBackIsSeenApart) {
  cell_.copy = CopyKind::emulated;
  for (const Staging staging : {Staging::pinned, Staging::pageable, Staging::per_batch}) {
    cell_.copy_tuning.staging = staging;
    const RunRecord r = run();
    account(r);
    for (const BatchRecord& b : r.batches) {
      ASSERT_EQ(b.times[Stage::release].has_value(), staging == Staging::per_batch);
      ASSERT_TRUE(b.times[Stage::blocked]);
      EXPECT_LE(b.times[Stage::copy]->begin, b.times[Stage::blocked]->begin);
      EXPECT_LE(b.times[Stage::blocked]->end, b.times[Stage::copy]->end);
      EXPECT_EQ(b.times[Stage::copy]->end, b.times[Stage::transfer]->end) << "it has arrived";
      if (staging == Staging::per_batch) {
        EXPECT_GE(b.times[Stage::release]->begin, b.times[Stage::copy]->end);
      }
    }
  }
}

// The same quantities by the account and by the accelerator's own clock, which here is ours.
TEST_F(AccountOfARun, TheOverlapAgreesWithTheAccountWhereCopyingIsTransferring) {
  cell_.copy = CopyKind::emulated;
  cell_.copy_tuning.latency = Nanos{2'000'000};
  RunRecord r = run();
  ASSERT_EQ(keep_account(r, lanes_of(cell_)), "");
  ASSERT_TRUE(r.overlap);
  const LaneRecord& copy = r.account->lanes[1];
  EXPECT_EQ(r.overlap->kernel_ns, r.account->lanes[2].busy_ns);
  EXPECT_EQ(r.overlap->slices, static_cast<std::uint64_t>(kBatches));
  EXPECT_EQ(r.overlap->bytes, r.copy_cost->bytes);
  EXPECT_EQ(r.overlap->asked_ns, kBatches * kCompute);
  // The lane is busy from when the thread takes a batch up, some microseconds before.
  EXPECT_LE(*r.overlap->transfer_ns, copy.busy_ns);
  EXPECT_LE(*r.overlap->exposed_ns, copy.exposed_ns);
  EXPECT_EQ(*r.overlap->both_ns + *r.overlap->exposed_ns, *r.overlap->transfer_ns);
  // Where data are there, nothing of ours lies between two batches.
  EXPECT_EQ(r.overlap->fed_gap_ns, 0);
}

TEST_F(AccountOfARun, ThatDoesNotAddUpSaysSo) {
  RunRecord r = run();
  r.batches[3].times[Stage::compute]->end = r.begin_ns + r.epoch_ns + 1;
  EXPECT_NE(keep_account(r, lanes_of(cell_)), "");
}

}  // namespace
}  // namespace blksweep
