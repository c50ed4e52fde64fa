// Reads of many small records, over every engine: those that land in a staging area and are copied
// from there, and those of a reservoir in place; whole, and of a file that is cut off between
// planning and reading.
#include <gtest/gtest.h>

#include <filesystem>

#include "dataset/catalog_file.h"
#include "dataset/scan.h"
#include "io/engine_trial.h"
#include "support/engines.h"
#include "support/epoch_rig.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kRecordBytes = 4096;
constexpr std::uint64_t kRecordsOfPack = 200;
constexpr std::uint64_t kPacks = 4;

class StagedDelivery : public EpochRig, public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    cell_.engine = GetParam();
    cell_.direct = false;
    cell_.depth = 4;
    cell_.batch = 16;
    cell_.order = Order::recorded;
    cell_.merge = Merge::file;
    cell_.merge_max = {65536};
    cell_.shuffle = Shuffle::buffer;
    cell_.window = {Bytes{524288}, 0};
    if (const std::string why = engine_refusal(cell_.engine, cell_.depth); !why.empty()) {
      GTEST_SKIP() << why;
    }
    ASSERT_NO_FATAL_FAILURE(open_records());
    ASSERT_NO_FATAL_FAILURE(prepare());
  }
  void prepare() { EpochRig::prepare({.seed = 7, .verify = true}); }
  void prepare_in_place() {
    cell_.shuffle = Shuffle::reservoir;
    ASSERT_NO_FATAL_FAILURE(prepare());
    ASSERT_GT(planned_.schedule.in_place.exchanges.size(), 100U);
  }

  void open_records() {
    Rng rng(3);
    std::filesystem::create_directory(dir_.path("data"));
    for (std::uint64_t f = 0; f < kPacks; ++f) {
      write_random("data/pack" + std::to_string(f), kRecordsOfPack * kRecordBytes, rng);
    }
    ScanSettings records;
    records.records = {kRecordBytes};
    ScanReport report;
    const auto scanned = scan(dir_.path("data"), records, report);
    ASSERT_TRUE(scanned) << scanned.error().message();
    const std::string catalog = dir_.path("records.cat");
    ASSERT_TRUE(write_catalog(catalog, *scanned));
    auto opened = open_source({"", catalog});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
  }

  std::size_t wrong() const {
    return check_hashes(source_.catalog, planned_.plan,
                        {epoch_->delivery().delivered(), epoch_->delivery().hashes()})
        .wrong;
  }
};

TEST_P(StagedDelivery, EverySampleHasTheBytesOfItsRecord) {
  run_prepared();
  expect_complete();
  EXPECT_EQ(epoch_->delivery().delivered().size(), kPacks * kRecordsOfPack);
  EXPECT_GT(epoch_->reader().staged_reads(), 0U);
}

// What lay in the room before must not pass for what the file has no more.
TEST_P(StagedDelivery, RecordsBehindTheCutFailAndTheOthersComeWhole) {
  const std::uint64_t left = 90 * kRecordBytes + 1000;
  std::filesystem::resize_file(source_.catalog.full_path(1), left);
  run_prepared();
  EXPECT_EQ(epoch_->reader().readiness().failures().size(), kRecordsOfPack - 90);
  EXPECT_EQ(epoch_->delivery().delivered().size(), kPacks * kRecordsOfPack - (kRecordsOfPack - 90));
  EXPECT_EQ(wrong(), 0U);
  EXPECT_GT(epoch_->reader().staged_reads(), 0U);
}

// Whoever has a batch first makes its exchanges: the decoding, the copying or the consuming thread.
TEST_P(StagedDelivery, InPlaceEveryStageFindsEachSample) {
  for (const CopyKind copy : {CopyKind::none, CopyKind::host, CopyKind::emulated}) {
    for (const ConsumerKind consumer : {ConsumerKind::none, ConsumerKind::emulated}) {
      for (const std::uint32_t decoders : {0U, 1U}) {
        cell_.copy = copy;
        cell_.consumer = consumer;
        cell_.decode_threads = decoders;
        cell_.decode_cpu = Nanos(decoders * 1000);
        ASSERT_NO_FATAL_FAILURE(prepare_in_place());
        run_prepared();
        expect_complete();
        EXPECT_EQ(epoch_->delivery().delivered().size(), kPacks * kRecordsOfPack);
      }
    }
  }
}

TEST_P(StagedDelivery, InPlaceRecordsBehindTheCutFailAndTheOthersComeWhole) {
  ASSERT_NO_FATAL_FAILURE(prepare_in_place());
  std::filesystem::resize_file(source_.catalog.full_path(1), 90 * kRecordBytes + 1000);
  run_prepared();
  EXPECT_EQ(epoch_->delivery().delivered().size(), kPacks * kRecordsOfPack - (kRecordsOfPack - 90));
  EXPECT_EQ(wrong(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, StagedDelivery, ::testing::ValuesIn(support::buffered_engines()),
                         support::engine_name);

}  // namespace
}  // namespace blksweep
