// Workers: every sample once, its own bytes, in order, in bounded memory, however many there are.
#include "loader/worker_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/rng.h"
#include "io/engine_trial.h"
#include "loader/batch_source.h"
#include "loader/epoch.h"
#include "loader/loader.h"
#include "loader/most_held.h"
#include "loader/verify.h"
#include "plan/batch_slots.h"
#include "support/epoch_rig.h"
#include "support/faulty_stages.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kWorkerFiles = 120;

class WorkerReaderTest : public EpochRig, public ::testing::TestWithParam<ReadScope> {
 protected:
  WorkerReaderTest() {
    Rng rng(3);
    for (std::uint32_t f = 0; f < kWorkerFiles; ++f) {
      write_random(name(f), f % 17 == 0 ? 0 : 1 + rng.below(30000), rng);
    }
    reopen();
    cell_.order = Order::random;
    cell_.workers = 3;
    cell_.scope = GetParam();
    cell_.batch = 8;
    cell_.direct = false;
  }
  void SetUp() override {
    if (const std::string why = ring_refusal(64); GetParam() == ReadScope::batch && !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  static std::string name(std::uint32_t f) {
    return "c" + std::to_string(f % 4) + "/" + std::to_string(f);
  }
  void prepare(const EpochOptions& options = {.seed = 5, .verify = true}) {
    EpochRig::prepare(options);
  }
  EpochOutcome run() { return run_prepared(); }

  // A worker reads one batch after the other, and none before its slot is free.
  void expect_turns() const {
    const std::uint32_t slots = batch_slots_of(cell_);
    for (std::size_t b = 0; b < planned_.schedule.batches(); ++b) {
      if (b >= cell_.workers) {
        EXPECT_GE(times(b)[Stage::read]->begin, times(b - cell_.workers)[Stage::read]->end);
      }
      if (b >= slots) {
        EXPECT_GE(times(b)[Stage::read]->begin, times(b - slots).consumed);
      }
      EXPECT_GE(times(b).consumed, b == 0 ? 0 : times(b - 1).consumed);
    }
  }
};

TEST_P(WorkerReaderTest, DeliversEverySampleOnceInOrderInBoundedMemory) {
  Rng rng(17);
  for (int i = 0; i < 40; ++i) {
    cell_.workers = 1 + static_cast<std::uint32_t>(rng.below(6));
    cell_.batch = 1 + static_cast<std::uint32_t>(rng.below(40));
    cell_.prefetch = static_cast<std::uint32_t>(rng.below(4));
    cell_.epochs = 1 + static_cast<std::uint32_t>(rng.below(2));
    cell_.direct = rng.below(2) == 0;
    cell_.consumer = rng.below(2) == 0 ? ConsumerKind::emulated : ConsumerKind::none;
    cell_.compute.mean = std::chrono::microseconds(50);
    cell_.copy = rng.below(3) == 0 ? CopyKind::host : CopyKind::none;
    SCOPED_TRACE(testing::Message()
                 << cell_.workers << " workers, batch " << cell_.batch << ", prefetch "
                 << cell_.prefetch << ", direct " << cell_.direct << ", epochs " << cell_.epochs);
    ASSERT_NO_FATAL_FAILURE(prepare());
    EXPECT_FALSE(run().interrupted);
    expect_complete();
    expect_turns();
    EXPECT_EQ(epoch_->reader().counts().submitted, planned_.plan.reads.size());
    EXPECT_EQ(epoch_->reader().counts().io_errors, 0U);
  }
}

// One batch that is consumed, and `prefetch` of each worker's.
TEST_P(WorkerReaderTest, MemoryIsThatOfTheBatchesThatAreAhead) {
  cell_.prefetch = 1;
  ASSERT_NO_FATAL_FAILURE(prepare());
  std::uint64_t largest = 0;
  for (std::size_t b = 0; b < planned_.schedule.batches(); ++b) {
    std::uint64_t bytes = 0;
    for (std::uint32_t p = planned_.schedule.batch_begin[b];
         p < planned_.schedule.batch_begin[b + 1]; ++p) {
      bytes += align_up(planned_.plan.parcel_bytes[p], kSlotUnit);
    }
    largest = std::max(largest, bytes);
  }
  EXPECT_EQ(planned_.schedule.arena.n, 4 * largest);
  EXPECT_EQ(most_held_batches(planned_.plan, planned_.schedule), 4U);
}

TEST_P(WorkerReaderTest, PrefetchZeroReadsNothingAhead) {
  cell_.prefetch = 0;
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = std::chrono::microseconds(100);
  ASSERT_NO_FATAL_FAILURE(prepare());
  run();
  expect_complete();
  for (std::size_t b = 1; b < planned_.schedule.batches(); ++b) {
    EXPECT_GE(times(b)[Stage::read]->begin, times(b - 1).consumed);
  }
}

TEST_P(WorkerReaderTest, AFileThatIsGoneOrShorterCostsItsSample) {
  std::filesystem::remove(dir_.path(name(5)));
  std::filesystem::resize_file(dir_.path(name(6)), 0);
  for (const auto& [direct, batch] : {std::pair(false, 8U), {true, 8U}, {true, kWorkerFiles}}) {
    cell_.direct = direct;
    cell_.batch = batch;  // the last: both fail in one batch
    ASSERT_NO_FATAL_FAILURE(prepare());
    run();
    std::map<std::string, int> errors;
    for (const ReadFailure& f : epoch_->reader().readiness().failures()) {
      const Sample s = source_.catalog.sample(planned_.plan.order[f.position]);
      errors[std::string(source_.catalog.path(s.file))] = f.error;
    }
    EXPECT_EQ(errors, (std::map<std::string, int>{{name(5), ENOENT}, {name(6), 0}}));
    EXPECT_EQ(epoch_->delivery().delivered().size(), kWorkerFiles - 2);
    EXPECT_EQ(epoch_->reader().counts().io_errors, 2U);
  }
}

TEST_P(WorkerReaderTest, AStopEndsItInTheMiddle) {
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = std::chrono::hours(1);
  cell_.decode_cpu = std::chrono::microseconds(100);
  ASSERT_NO_FATAL_FAILURE(prepare());
  std::jthread stopper([&] {
    while (epoch_->delivery().parts(0).empty()) {
      std::this_thread::yield();
    }
    stop_.store(true);
  });
  EXPECT_TRUE(run().interrupted);
  EXPECT_EQ(times(planned_.schedule.batches() - 1).consumed, 0);
}

TEST_P(WorkerReaderTest, AnEpochThatIsNeverRunEnds) {
  ASSERT_NO_FATAL_FAILURE(prepare());
  epoch_.reset();
}

TEST_P(WorkerReaderTest, AStageThatFailsEndsTheWorkers) {
  FaultPlan plan;
  plan.at_consume = 4;
  FaultTrace trace;
  cell_.consumer = ConsumerKind::cuda;
  ASSERT_NO_FATAL_FAILURE(prepare({.seed = 5, .makers = faulty_makers(plan, trace)}));
  const EpochOutcome outcome = run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_NE(outcome.fault->message().find("batch 4"), std::string::npos);
}

// By the clock of CPU time, which nothing else on the machine can shorten.
TEST_P(WorkerReaderTest, DecodingSpinsForEverySampleThatHasBytes) {
  std::int64_t with_bytes = 0;
  for (std::uint32_t s = 0; s < source_.catalog.samples(); ++s) {
    with_bytes += source_.catalog.sample(s).length > 0 ? 1 : 0;
  }
  cell_.decode_cpu = std::chrono::microseconds(300);
  ASSERT_NO_FATAL_FAILURE(prepare());
  EXPECT_GE(run().cpu_ns, with_bytes * 300'000);
  expect_complete();
}

TEST_P(WorkerReaderTest, IsPulledThroughTheLibrary) {
  std::string error;
  const auto loader = Loader::open({.data = dir_.path(),
                                    .order = "random",
                                    .direct = false,
                                    .batch = 8,
                                    .workers = 3,
                                    .prefetch = 2},
                                   error);
  ASSERT_TRUE(loader) << error;
  EXPECT_EQ(loader->most_held(), 7U);
  std::set<std::uint32_t> seen;
  while (const auto batch = loader->next()) {
    for (const LoadedSample& s : batch->samples) {
      std::ifstream in(loader->path(s.index), std::ios::binary);
      const std::string file{std::istreambuf_iterator<char>(in), {}};
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(s.data), s.bytes), file);
      EXPECT_TRUE(seen.insert(s.index).second);
    }
    loader->release();
  }
  EXPECT_EQ(loader->error(), "");
  EXPECT_EQ(seen.size(), kWorkerFiles);
}

INSTANTIATE_TEST_SUITE_P(Scopes, WorkerReaderTest,
                         ::testing::Values(ReadScope::sample, ReadScope::batch),
                         [](const auto& scope) { return std::string(to_string(scope.param)); });

// Remembers which slots were filled together.
class FilledSlots final : public Engine {
 public:
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    runs.emplace_back(first_slot, fds.size());
    for (Fd& fd : fds) {
      empty += fd ? 0U : 1U;
      fd.reset();
    }
    return {};
  }
  Result<> submit(std::span<const ReadRequest>) override { return {}; }
  Result<std::size_t> reap(std::span<Completion>, std::size_t, std::int64_t) override {
    return std::size_t{0};
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> runs;
  std::size_t empty = 0;

 private:
  EngineFacts facts_;
};

// A call of the kernel for each run of slots, and none touches a slot whose file is being read.
TEST_P(WorkerReaderTest, FilesThatAreOpenedTogetherFillTheirSlotsInAsFewCallsAsThereAreRuns) {
  ASSERT_NO_FATAL_FAILURE(prepare());
  const auto data = DataFiles::open_root(source_.catalog);
  ASSERT_TRUE(data) << data.error().message();
  std::vector<std::byte> arena(planned_.schedule.arena.n);
  const Handoff handoff;
  FilledSlots engine;
  BatchSource source({.catalog = source_.catalog,
                      .plan = planned_.plan,
                      .schedule = planned_.schedule,
                      .data = *data,
                      .arena = arena,
                      .handoff = handoff,
                      .scope = GetParam()},
                     engine, 6);
  source.begin(0, 8);
  const auto fill = [&](const std::vector<std::uint32_t>& tags) {
    engine.runs.clear();
    WantedRead wanted;
    for (const std::uint32_t tag : tags) {
      EXPECT_EQ(source.next(tag, wanted), ReadSource::Next::request);
      EXPECT_GE(source.aim(tag, 0).slot, 0);
    }
    EXPECT_TRUE(source.flush());
    return engine.runs;
  };
  using Runs = std::vector<std::pair<std::uint32_t, std::size_t>>;
  EXPECT_EQ(fill({5, 1, 0, 3, 2}), (Runs{{0, 4}, {5, 1}}));
  EXPECT_EQ(fill({0}), (Runs{{0, 1}}));
  EXPECT_EQ(fill({3, 1}), (Runs{{1, 1}, {3, 1}}));
  EXPECT_EQ(engine.empty, 0U);
}

// The stage behind the planned reader takes the same time, and leaves samples as they are.
TEST(EmulatedDecode, SpinsAndKeepsTheBytes) {
  TempDir dir;
  for (std::size_t f = 0; f < 40; ++f) {
    dir.write("f" + std::to_string(f), std::string(100 + f, static_cast<char>('a' + f % 26)));
  }
  const auto source = open_source({dir.path(), ""});
  ASSERT_TRUE(source) << source.error().message();
  LoaderSettings cell;
  cell.engine = EngineKind::psync;
  cell.direct = false;
  cell.batch = 7;
  cell.decode_cpu = std::chrono::microseconds(200);
  cell.decode_threads = 2;
  for (const CopyKind copy : {CopyKind::none, CopyKind::host}) {
    cell.copy = copy;
    const auto planned = plan_epoch(*source, cell, 1);
    ASSERT_TRUE(planned) << planned.error().message();
    const auto epoch = Epoch::prepare(*source, cell, *planned, {.verify = true});
    ASSERT_TRUE(epoch) << epoch.error().message();
    const auto outcome = (*epoch)->run(std::atomic<bool>(false));
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_GE(outcome->cpu_ns, 40 * 200'000);
    const auto& delivery = (*epoch)->delivery();
    EXPECT_EQ(delivery.delivered().size(), 40U);
    EXPECT_EQ(
        check_hashes(source->catalog, planned->plan, {delivery.delivered(), delivery.hashes()})
            .wrong,
        0U);
  }
}

TEST(ReaderSettings, SayWhatWorkersCannotHave) {
  const auto refused = [](const auto& change) {
    LoaderSettings s;
    s.workers = 2;
    change(s);
    const Result<> checked = check_reader(s);
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_EQ(refused([](LoaderSettings&) {}), "");
  EXPECT_NE(refused([](LoaderSettings& s) { s.merge = Merge::device; }).find("--merge none"),
            std::string::npos);
  EXPECT_NE(refused([](LoaderSettings& s) { s.shuffle = Shuffle::buffer; }).find("--order random"),
            std::string::npos);
  EXPECT_NE(refused([](LoaderSettings& s) {
              s.scope = ReadScope::batch;
              s.batch = 4097;
            }).find("4096"),
            std::string::npos);
  EXPECT_NE(refused([](LoaderSettings& s) {
              s.workers = 0;
              s.decode_cpu = Nanos{1};
            }).find("--decode-threads"),
            std::string::npos);
  EXPECT_NE(refused([](LoaderSettings& s) {
              s.decode_threads = 1;
              s.read_share = {500'000};
            }).find("--read-share"),
            std::string::npos);
}

// Only decoding needs all bytes of a sample: time that stands for decoding does not.
TEST(ReaderSettings, APartOfEachSampleIsReadWhereNothingDecodesIt) {
  LoaderSettings s;
  s.read_share = {500'000};
  EXPECT_TRUE(check_reader(s));
  s.decode_threads = 2;
  EXPECT_FALSE(check_reader(s));
  s.decode_cpu = Nanos{1};
  EXPECT_TRUE(check_reader(s));
  s = {};
  s.decode_threads = 2;
  EXPECT_TRUE(check_reader(s)) << "all of each sample";
}

}  // namespace
}  // namespace blksweep
