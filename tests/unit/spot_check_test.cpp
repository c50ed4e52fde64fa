// The sample of delivered bytes: how many, where, and that a wrong byte in it is found.
#include "loader/spot_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/rng.h"
#include "loader/address_proof.h"
#include "loader/epoch.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

class SpotCheckTest : public ::testing::Test {
 protected:
  void make(int files, std::uint64_t bytes) {
    Rng rng(3);
    for (int f = 0; f < files; ++f) {
      std::string text(bytes, '\0');
      for (char& c : text) {
        c = static_cast<char>(rng.next() & 0xFF);
      }
      dir_.write("f" + std::to_string(f), text);
    }
    auto opened = open_source({dir_.path(), ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    cell_.direct = false;
    cell_.engine = EngineKind::psync;
    cell_.shuffle = Shuffle::buffer;
    cell_.batch = 7;
    auto planned = plan_epoch(source_, cell_, 1);
    ASSERT_TRUE(planned) << planned.error().message();
    planned_ = *std::move(planned);
  }
  SpotResult deliver(std::uint64_t seed = 1) {
    SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, seed);
    auto epoch = Epoch::prepare(source_, cell_, planned_, {.seed = 1, .spot = &spot});
    EXPECT_TRUE(epoch && (*epoch)->run(stop_));
    return spot.compare(source_);
  }

  TempDir dir_;
  Source source_;
  LoaderSettings cell_;
  PlannedEpoch planned_;
  std::atomic<bool> stop_{false};
};

TEST_F(SpotCheckTest, TakesAllOfFewSamples) {
  make(20, 5000);
  const SpotResult r = deliver();
  EXPECT_EQ(r.pieces, 20U);
  EXPECT_EQ(r.bytes, 20 * 5000U);
  EXPECT_EQ(r.found.wrong, 0U);
}

TEST_F(SpotCheckTest, TakesSixtyFourOfManyAndAPieceOfLargeOnes) {
  make(300, 100'000);
  const SpotResult r = deliver();
  EXPECT_EQ(r.pieces, 64U);
  EXPECT_EQ(r.bytes, 64 * 65536U);
  EXPECT_EQ(r.found.wrong, 0U);
}

TEST_F(SpotCheckTest, LeavesEmptySamplesOut) {
  make(3, 0);
  EXPECT_EQ(deliver().pieces, 0U);
}

// The file after the run stands for what it should have been during it.
TEST_F(SpotCheckTest, FindsDeliveredBytesThatAreNotTheFiles) {
  make(20, 5000);
  SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, 1);
  auto epoch = Epoch::prepare(source_, cell_, planned_, {.seed = 1, .spot = &spot});
  ASSERT_TRUE(epoch && (*epoch)->run(stop_));
  dir_.write("f4", std::string(5000, 'x'));
  dir_.write("f5", "short");
  const SpotResult r = spot.compare(source_);
  EXPECT_EQ(r.pieces, 20U);
  EXPECT_EQ(r.found.wrong, 2U);
  ASSERT_EQ(r.found.named.size(), 2U);
  EXPECT_NE(r.found.named[0].path.find("f4"), std::string::npos);
  EXPECT_EQ(r.found.named[1].why, "the file ends early");
}

TEST_F(SpotCheckTest, CountsNoPieceOfASampleThatFailed) {
  make(20, 5000);
  SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, 1);
  const std::vector<std::byte> zeros(planned_.schedule.arena.n);
  std::vector<std::uint8_t> failed(planned_.plan.order.size());
  failed[2] = 1;
  for (std::uint32_t b = 0; b < planned_.schedule.batches(); ++b) {
    spot.hash_batch(b, zeros, failed);
  }
  const SpotResult r = spot.compare(source_);
  EXPECT_EQ(r.pieces, 19U);
  EXPECT_EQ(r.found.wrong, 19U);
}

// What is behind the batch's end is not there yet.
TEST_F(SpotCheckTest, HashesABatchAsItIsConsumed) {
  make(9, 5000);
  SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, 1);
  const std::vector<std::uint8_t> failed(planned_.plan.order.size());
  for (std::uint32_t b = 0; b < 2; ++b) {
    spot.hash_batch(b, std::vector(planned_.schedule.arena.n, std::byte(b)), failed);
  }
  std::map<std::string, int> delivered;  // "delivered HASH" -> pieces
  for (const WrongSample& w : spot.compare(source_).found.named) {
    ++delivered[w.why.substr(0, w.why.find(','))];
  }
  const auto of = [&](char fill) {
    const std::string sample(5000, fill);
    return delivered[fmt::format("delivered {:016x}", XXH3_64bits(sample.data(), sample.size()))];
  };
  EXPECT_EQ(of('\0'), 7);
  EXPECT_EQ(of('\1'), 2);
}

TEST_F(SpotCheckTest, LooksAtTheLastByteOfALargeSampleToo) {
  constexpr std::uint64_t kPiece = 65536;
  make(1, kPiece + 1);
  int with = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, seed);
    const std::vector<std::byte> zeros(planned_.schedule.arena.n);
    spot.hash_batch(0, zeros, {std::vector<std::uint8_t>{0}});
    const SpotResult r = spot.compare(source_);
    ASSERT_EQ(r.found.named.size(), 1U);
    with += r.found.named[0].why.ends_with(" in 65536 bytes from 1") ? 1 : 0;
  }
  EXPECT_GT(with, 5);
  EXPECT_LT(with, 35);
}

// They are read by address and several at once: what is said of them does not depend on it.
TEST_F(SpotCheckTest, NamesTheFirstWrongPiecesByFileInWhateverOrderTheyCome) {
  make(40, 5000);
  std::vector<HashedPiece> pieces;
  for (std::uint32_t f = 40; f-- > 0;) {
    std::ifstream file(source_.catalog.full_path(f), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const std::uint64_t offset : {3000U, 100U, 0U}) {
      const bool wrong = f % 2 == 1 && offset == (f < 9 ? 3000U : 100U);
      const std::uint64_t hash = XXH3_64bits(text.data() + offset, 2000);
      pieces.push_back({f, offset, 2000, wrong ? hash + 1 : hash});
    }
  }
  const SpotResult r = compare_pieces(source_, pieces);
  EXPECT_EQ(r.pieces, 120U);
  EXPECT_EQ(r.bytes, 120 * 2000U);
  EXPECT_EQ(r.found.wrong, 20U);
  ASSERT_EQ(r.found.named.size(), 10U);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(r.found.named[i].path, source_.catalog.full_path(2 * i + 1));
    const std::string where = i < 4 ? "2000 bytes from 3000" : "2000 bytes from 100";
    EXPECT_NE(r.found.named[i].why.find(where), std::string::npos) << r.found.named[i].why;
  }
}

TEST_F(SpotCheckTest, APieceThatCannotBeReadIsWrongAndSaysWhy) {
  make(20, 5000);
  SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, 1);
  auto epoch = Epoch::prepare(source_, cell_, planned_, {.seed = 1, .spot = &spot});
  ASSERT_TRUE(epoch && (*epoch)->run(stop_));
  std::filesystem::remove(dir_.path() + "/f7");
  const SpotResult r = spot.compare(source_);
  EXPECT_EQ(r.found.wrong, 1U);
  ASSERT_EQ(r.found.named.size(), 1U);
  EXPECT_EQ(r.found.named[0].path, dir_.path() + "/f7");
  EXPECT_NE(r.found.named[0].why.find("No such file"), std::string::npos);
}

// Descriptors for one file at a time suffice.
TEST_F(SpotCheckTest, ReadsAlonePiecesForWhichThereWereNoDescriptors) {
  make(64, 5000);
  SpotCheck spot(source_.catalog, planned_.plan, planned_.schedule, 1);
  auto epoch = Epoch::prepare(source_, cell_, planned_, {.seed = 1, .spot = &spot});
  ASSERT_TRUE(epoch && (*epoch)->run(stop_));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd next(::open("/", O_PATH | O_CLOEXEC));  // of the free ones the first
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 6;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const SpotResult r = spot.compare(source_);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(r.pieces, 64U);
  EXPECT_EQ(r.found.wrong, 0U) << r.found.named[0].why;
}

TEST(AddressProof, OfFilesWithoutBytesComparesNothing) {
  const TempDir dir;
  dir.write("empty", "");
  const auto source = open_source({dir.path(), ""});
  ASSERT_TRUE(source) << source.error().message();
  AddressProof proof(*source, {});
  EXPECT_TRUE(proof.before(*source));
  const AddressFindings found = proof.after(*source);
  EXPECT_EQ(found.state, "");
  EXPECT_EQ(found.layout, "");
  EXPECT_TRUE(found.wrong.empty());
}

}  // namespace
}  // namespace blksweep
