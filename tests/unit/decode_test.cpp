// A packed data set through the whole pipeline: what is delivered is what was packed.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/rng.h"
#include "dataset/pack.h"
#include "dataset/pack_index.h"
#include "loader/epoch.h"
#include "loader/verify.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::size_t kSamples = 60;
const std::atomic<bool> kGoOn{false};

class DecodeTest : public ::testing::Test {
 protected:
  DecodeTest() {
    Rng rng(5);
    for (std::size_t i = 0; i < kSamples; ++i) {
      std::string bytes(4 * rng.below(5000), '\0');
      for (std::size_t b = 0; b < bytes.size(); ++b) {
        bytes[b] = static_cast<char>(i % 3 == 0 ? rng.next() & 0xFF : b / 100);
      }
      dir_.write("src/c" + std::to_string(i % 4) + "/" + std::to_string(i), bytes);
      source_bytes_ += bytes.size();
    }
    cell_.engine = EngineKind::psync;
    cell_.direct = false;
    cell_.batch = 7;
    cell_.window = {Bytes{std::uint64_t{4} << 20}, 0};
    cell_.decode_threads = 3;
  }

  void pack(Codec codec, PackLayout layout) {
    PackSettings s;
    s.source = dir_.path("src");
    s.directory = packed();
    s.layout = layout;
    s.encode.codec = codec;
    std::filesystem::remove_all(packed());
    const auto report = pack_dataset(s, {}, kGoOn);
    ASSERT_TRUE(report) << report.error().message();
  }
  std::string packed() const { return dir_.path("packed"); }

  void open() {
    auto opened = open_source({packed(), ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    auto planned = plan_epoch(source_, cell_, 7);
    ASSERT_TRUE(planned) << planned.error().message();
    planned_ = *std::move(planned);
  }

  void run() {
    epoch_.reset();
    open();
    auto epoch = Epoch::prepare(source_, cell_, planned_, {.seed = 7, .verify = true});
    ASSERT_TRUE(epoch) << epoch.error().message();
    epoch_ = *std::move(epoch);
    const auto outcome = epoch_->run(kGoOn);
    ASSERT_TRUE(outcome) << outcome.error().message();
  }

  Verification verify() const {
    return check_hashes(
        source_.catalog, planned_.plan,
        {epoch_->delivery().delivered(), epoch_->delivery().hashes(), Delivered::decoded});
  }
  std::uint64_t decoded_bytes() const {
    const std::vector<std::uint64_t>& bytes = epoch_->decode()->bytes();
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  }

  TempDir dir_;
  std::uint64_t source_bytes_ = 0;
  LoaderSettings cell_;
  Source source_;
  PlannedEpoch planned_;
  std::unique_ptr<Epoch> epoch_;
};

TEST_F(DecodeTest, DeliversTheSourcesBytesWithEveryCodecLayoutAndCopy) {
  for (const Codec codec : {Codec::none, Codec::zstd, Codec::lz4, Codec::blosc}) {
    for (const PackLayout layout : {PackLayout::files, PackLayout::tar}) {
      ASSERT_NO_FATAL_FAILURE(pack(codec, layout));
      for (const CopyKind copy : {CopyKind::none, CopyKind::host, CopyKind::emulated}) {
        for (const ConsumerKind consumer : {ConsumerKind::none, ConsumerKind::emulated}) {
          cell_.copy = copy;
          cell_.consumer = consumer;
          cell_.compute = {std::chrono::microseconds(50), 0};
          ASSERT_NO_FATAL_FAILURE(run());
          EXPECT_EQ(epoch_->delivery().delivered().size(), kSamples);
          EXPECT_EQ(verify().wrong, 0);
          EXPECT_EQ(epoch_->decode()->failed(), 0);
          EXPECT_EQ(decoded_bytes(), source_bytes_);
        }
      }
    }
  }
}

TEST_F(DecodeTest, ABatchIsDecodedAfterItWasReadAndBeforeItIsCopied) {
  ASSERT_NO_FATAL_FAILURE(pack(Codec::zstd, PackLayout::tar));
  for (const std::uint32_t prefetch : {0U, 2U}) {
    cell_.prefetch = prefetch;
    cell_.copy = CopyKind::host;
    ASSERT_NO_FATAL_FAILURE(run());
    for (std::size_t b = 0; b < planned_.schedule.batches(); ++b) {
      const BatchTimes& t = epoch_->times()[b];
      EXPECT_LE(t[Stage::read]->end, t[Stage::decode]->begin);
      EXPECT_LT(t[Stage::decode]->begin, t[Stage::decode]->end);
      EXPECT_LE(t[Stage::decode]->end, t[Stage::copy]->begin);
    }
  }
}

// Each damaged in its own way, all others as they were.
TEST_F(DecodeTest, DamagedSamplesAreNamedAndTheRestIsDelivered) {
  ASSERT_NO_FATAL_FAILURE(pack(Codec::zstd, PackLayout::files));
  const auto damage = [&](const std::string& name, auto change) {
    std::string bytes = read_file(packed() + "/" + name);
    change(bytes);
    dir_.write("packed/" + name, bytes);
  };
  damage("c1/1.blks", [](std::string& b) { b[0] = 'X'; });
  damage("c2/2.blks", [](std::string& b) { b.resize(b.size() - 1); });
  damage("c3/3.blks", [](std::string& b) { b.back() = static_cast<char>(b.back() ^ 1); });
  damage("c0/4.blks", [](std::string& b) { b.clear(); });
  for (const CopyKind copy : {CopyKind::none, CopyKind::host}) {
    cell_.copy = copy;
    ASSERT_NO_FATAL_FAILURE(run());
    EXPECT_EQ(epoch_->decode()->failed(), 4);
    EXPECT_EQ(epoch_->decode()->failures().size(), 4);
    EXPECT_EQ(verify().wrong, 4);
    EXPECT_EQ(epoch_->delivery().delivered().size(), kSamples);
  }
}

TEST_F(DecodeTest, ASampleLargerThanTheIndexSaysDoesNotLeaveItsSlot) {
  ASSERT_NO_FATAL_FAILURE(pack(Codec::zstd, PackLayout::files));
  const std::string large(std::size_t{1} << 20, 'x');
  std::vector<std::byte> stored;
  const auto header =
      Encoder({Codec::zstd, ElementType::raw, 0}).encode(std::as_bytes(std::span(large)), stored);
  ASSERT_TRUE(header);
  dir_.write("packed/c1/1.blks", {reinterpret_cast<const char*>(stored.data()),
                                  kSampleHeaderBytes + header->payload_bytes});
  ASSERT_NO_FATAL_FAILURE(run());
  EXPECT_EQ(epoch_->decode()->failed(), 1) << "those behind it have their room";
  EXPECT_NE(epoch_->decode()->failures().front().why.find("index"), std::string::npos);
}

TEST_F(DecodeTest, WithoutAPackedDataSetThereIsAReasonBeforeAnythingIsRead) {
  ASSERT_NO_FATAL_FAILURE(pack(Codec::none, PackLayout::files));
  const auto refusal = [this] {
    open();
    const auto epoch = Epoch::prepare(source_, cell_, planned_, {});
    return epoch ? std::string() : epoch.error().message();
  };
  EXPECT_EQ(refusal(), "");
  dir_.write("packed/later.blks", "x");
  EXPECT_NE(refusal().find("later.blks"), std::string::npos);
  std::filesystem::remove_all(packed() + "/" + std::string(kPackFolder));
  EXPECT_NE(refusal().find("dataset pack"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
