#include "loader/delivery.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>

#include "base/rng.h"
#include "io/engine_trial.h"
#include "loader/epoch.h"
#include "loader/verify.h"
#include "support/engines.h"
#include "support/epoch_rig.h"

namespace blksweep {
namespace {

class DeliveryTest : public EpochRig, public ::testing::TestWithParam<EngineKind> {
 protected:
  DeliveryTest() {
    reopen(files_->path());
    cell_.engine = GetParam();
    cell_.direct = false;
    cell_.depth = 8;
    cell_.batch = 16;
    cell_.window = {Bytes{std::uint64_t{4} << 20}, 0};
  }

  // Once for all tests: ext4 without a journal looks at every inode that was freed in the last
  // minutes before it takes one.
  static void SetUpTestSuite() {
    files_ = std::make_unique<TempDir>();
    Rng rng(11);
    for (int f = 0; f < 300; ++f) {
      files_->write("d" + std::to_string(f % 5) + "/f" + std::to_string(f),
                    random_bytes(rng.below(20000), rng));
    }
  }
  static void TearDownTestSuite() { files_.reset(); }

  // For a test that changes them.
  void take_files_of_its_own() {
    std::filesystem::copy(files_->path(), dir_.path(), std::filesystem::copy_options::recursive);
    reopen(dir_.path());
  }

  void SetUp() override {
    if (const std::string why = engine_refusal(cell_.engine, cell_.depth); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  // Runs one epoch.
  void run() {
    ASSERT_NO_FATAL_FAILURE(prepare({.seed = 7, .verify = true}));
    run_prepared();
  }

  static std::unique_ptr<TempDir> files_;
};

std::unique_ptr<TempDir> DeliveryTest::files_;

TEST_P(DeliveryTest, DeliversInTheScheduledOrderWithTheFilesBytes) {
  auto consumer = ConsumerKind::none;
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::buffer, Shuffle::reservoir}) {
    for (const CopyKind copy : {CopyKind::none, CopyKind::host, CopyKind::emulated}) {
      consumer = consumer == ConsumerKind::none ? ConsumerKind::emulated : ConsumerKind::none;
      cell_.shuffle = shuffle;
      cell_.copy = copy;
      cell_.consumer = consumer;
      cell_.compute = {std::chrono::microseconds(20), 0};
      cell_.window = {Bytes{300'000}, 0};
      run();
      if (HasFatalFailure()) {
        return;
      }
      expect_complete();
      EXPECT_EQ(epoch_->delivery().hashes().size(), 300U);
    }
  }
}

TEST_P(DeliveryTest, StagesOfABatchFollowEachOther) {
  cell_.copy = CopyKind::emulated;
  cell_.copy_tuning.bandwidth = {1'000'000'000};
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute = {std::chrono::microseconds(100), 0.3};
  run();
  if (HasFatalFailure()) {
    return;
  }
  for (std::size_t b = 0; b < planned_.schedule.batches(); ++b) {
    const BatchTimes& t = times(b);
    std::int64_t before = 1;
    for (const Stage stage : {Stage::read, Stage::copy, Stage::compute}) {
      EXPECT_LE(before, t[stage]->wait) << to_string(stage);
      EXPECT_LE(t[stage]->wait, t[stage]->begin) << to_string(stage);
      EXPECT_LE(t[stage]->begin, t[stage]->end) << to_string(stage);
      before = t[stage]->end;
    }
    EXPECT_FALSE(t[Stage::decode]);
    EXPECT_LE(t[Stage::copy]->begin, t[Stage::transfer]->begin);
    EXPECT_LE(t[Stage::transfer]->end, t[Stage::copy]->end);
    EXPECT_GE(t[Stage::compute]->length(),
              cell_.compute.of_batch(static_cast<std::uint32_t>(b), 16, 7).count());
    EXPECT_EQ(t.consumed, t[Stage::compute]->end);
    for (const Stage lane : {Stage::transfer, Stage::compute}) {
      EXPECT_TRUE(b == 0 || times(b - 1)[lane]->end <= t[lane]->begin) << "one at a time";
    }
  }
}

// prefetch 0: nothing of the next batch is asked for before this one is consumed.
TEST_P(DeliveryTest, PrefetchZeroIsStrictlySerial) {
  for (const CopyKind copy : {CopyKind::none, CopyKind::host, CopyKind::emulated}) {
    cell_.prefetch = 0;
    cell_.copy = copy;
    cell_.consumer = ConsumerKind::emulated;
    cell_.compute = {std::chrono::microseconds(200), 0};
    run();
    if (HasFatalFailure()) {
      return;
    }
    ASSERT_GT(planned_.schedule.batches(), 10U);
    for (std::size_t b = 1; b < planned_.schedule.batches(); ++b) {
      EXPECT_GE(times(b)[Stage::read]->begin, times(b - 1).consumed);
    }
  }
}

TEST_P(DeliveryTest, EmissionDoesNotDependOnDepthEngineOrMergeMax) {
  cell_.shuffle = Shuffle::reservoir;
  cell_.order = Order::random;
  cell_.window = {Bytes{400'000}, 0};
  std::map<std::vector<std::uint32_t>, int> seen;
  for (const std::uint32_t depth : {1U, 4U, 64U}) {
    for (const std::uint64_t max : {16384U, 1U << 20}) {
      cell_.depth = depth;
      cell_.merge = Merge::file;
      cell_.merge_max = {max};
      run();
      if (HasFatalFailure()) {
        return;
      }
      std::vector<std::uint32_t> samples;
      for (const std::uint32_t p : epoch_->delivery().delivered()) {
        samples.push_back(planned_.plan.order[p]);
      }
      ++seen[samples];
    }
  }
  EXPECT_EQ(seen.size(), 1U);
}

TEST_P(DeliveryTest, StopEndsTheEpochAndKeepsWhatCame) {
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute = {std::chrono::milliseconds(30), 0};
  cell_.prefetch = 1;
  std::thread stopper([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop_.store(true);
  });
  run();
  stopper.join();
  if (HasFatalFailure()) {
    return;
  }
  const auto& delivered = epoch_->delivery().delivered();
  EXPECT_LT(delivered.size(), planned_.schedule.emission.size());
  EXPECT_TRUE(std::equal(delivered.begin(), delivered.end(), planned_.schedule.emission.begin()));
}

TEST_P(DeliveryTest, ARunOverMissingFilesDeliversTheOthers) {
  ASSERT_NO_FATAL_FAILURE(take_files_of_its_own());
  std::filesystem::remove_all(dir_.path("d2"));
  for (const Merge merge : {Merge::none, Merge::file}) {
    cell_.merge = merge;
    cell_.prefetch = 0;
    run();
    if (HasFatalFailure()) {
      return;
    }
    std::size_t gone = 0;
    for (const ReadFailure& f : epoch_->reader().readiness().failures()) {
      gone += f.error == ENOENT ? 1 : 0;
    }
    EXPECT_EQ(epoch_->delivery().delivered().size() + gone, 300U);
    EXPECT_GE(gone, 55U);
  }
}

// By whole pages, within the last one, and to nothing: a failed sample each, never a crash, and
// never bytes that the file has no more.
TEST_P(DeliveryTest, AFileThatIsCutOffIsAFailedSampleAndTheOthersCome) {
  ASSERT_NO_FATAL_FAILURE(take_files_of_its_own());
  ASSERT_NO_FATAL_FAILURE(prepare({.seed = 7, .verify = true}));
  std::size_t cut = 0;
  for (std::uint32_t f = 0; f < source_.catalog.files.size(); f += 9) {
    const std::uint64_t size = source_.catalog.files[f].size;
    if (size > 1) {
      std::filesystem::resize_file(source_.catalog.full_path(f), f % 2 == 0 ? size - 1 : size / 3);
      ++cut;
    }
  }
  run_prepared();
  ASSERT_GT(cut, 20U);
  EXPECT_EQ(epoch_->reader().readiness().failures().size(), cut);
  EXPECT_EQ(epoch_->delivery().delivered().size(), 300 - cut);
  const Verification v =
      check_hashes(source_.catalog, planned_.plan,
                   {epoch_->delivery().delivered(), epoch_->delivery().hashes()});
  EXPECT_EQ(v.wrong, 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, DeliveryTest, ::testing::ValuesIn(support::buffered_engines()),
                         support::engine_name);

}  // namespace
}  // namespace blksweep
