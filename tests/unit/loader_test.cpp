// The pull interface: every sample once, its own bytes, held as long as the contract says.
#include "loader/loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::string content(std::uint32_t f) {
  return std::string(1000 + f % 3000, static_cast<char>('a' + f % 26)) + std::to_string(f);
}

class LoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t f = 0; f < kFiles; ++f) {
      dir_.write("class" + std::to_string(f % 3) + "/f" + std::to_string(f), content(f));
    }
  }
  LoaderOptions options(const char* shuffle = "none") const {
    return {.data = dir_.path(),
            .order = "path",
            .shuffle = shuffle,
            .engine = "psync",
            .window_bytes = 200'000,
            .direct = false,
            .batch = 16};
  }
  std::unique_ptr<Loader> open(const LoaderOptions& o) const {
    std::string error;
    auto loader = Loader::open(o, error);
    EXPECT_TRUE(loader) << error;
    return loader;
  }
  std::string refusal(const LoaderOptions& o) const {
    std::string error;
    EXPECT_FALSE(Loader::open(o, error));
    return error;
  }
  static std::string file_of(const Loader& loader, std::uint32_t sample) {
    std::ifstream in(loader.path(sample), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static constexpr std::uint32_t kFiles = 300;
  TempDir dir_;
};

std::string text(const LoadedSample& s) { return {reinterpret_cast<const char*>(s.data), s.bytes}; }

TEST_F(LoaderTest, GivesEverySampleOnceAnEpochWithItsFilesBytes) {
  for (const char* shuffle : {"none", "buffer", "reservoir"}) {
    LoaderOptions o = options(shuffle);
    o.epochs = 2;
    const auto loader = open(o);
    std::map<std::uint32_t, int> seen;
    std::uint32_t number = 0;
    while (const auto batch = loader->next()) {
      EXPECT_EQ(batch->number, number++);
      EXPECT_LE(batch->samples.size(), 16U);
      for (const LoadedSample& s : batch->samples) {
        ++seen[s.index];
        EXPECT_EQ(text(s), file_of(*loader, s.index)) << shuffle;
        const std::string label(loader->label(s.label));
        EXPECT_NE(loader->path(s.index).find("/" + label + "/"), std::string::npos) << label;
      }
      loader->release();
    }
    EXPECT_EQ(loader->error(), "");
    EXPECT_EQ(number, loader->batches());
    EXPECT_EQ(loader->delivers(), kFiles) << "an epoch";
    EXPECT_EQ(seen.size(), kFiles);
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& one) { return one.second == 2; }));
  }
}

TEST_F(LoaderTest, GivesTheSameBatchesForTheSameSeed) {
  const auto indices = [&](std::uint64_t seed) {
    LoaderOptions o = options("reservoir");
    o.seed = seed;
    const auto loader = open(o);
    std::vector<std::uint32_t> all;
    while (const auto batch = loader->next()) {
      for (const LoadedSample& s : batch->samples) {
        all.push_back(s.index);
      }
      loader->release();
    }
    return all;
  };
  EXPECT_EQ(indices(7), indices(7));
  EXPECT_NE(indices(7), indices(8));
}

// Half of what it may be ahead is in flight, and that is eight reads at least; unless it is told.
TEST_F(LoaderTest, ChoosesWhatIsInFlightAndWhatIsReady) {
  const auto chosen = [&](LoaderOptions o) {
    const LoaderStats s = open(o)->stats();
    return std::pair(s.depth, s.prefetch);
  };
  LoaderOptions o = options();
  EXPECT_EQ(chosen(o), std::pair(32U, 4U)) << "16 reads a batch";
  o.batch = 1;
  EXPECT_EQ(chosen(o), std::pair(4U, 8U)) << "a read a batch";
  o.merge = "file";  // reads may be longer than all there is
  EXPECT_EQ(chosen(o), std::pair(32U, kFiles));
  o.prefetch = 0;
  EXPECT_EQ(chosen(o), std::pair(2U, 0U));
  o.depth = 3;
  EXPECT_EQ(chosen(o), std::pair(3U, 0U));
  o.prefetch.reset();
  EXPECT_EQ(chosen(o), std::pair(3U, kFiles));
  o = options();
  o.batch = 1;
  o.workers = 1;  // prefetch is of each worker then, whatever a read has
  EXPECT_EQ(chosen(o), std::pair(32U, 4U));
}

// As many as the loader says may be out, and their bytes stay; one more is refused and not waited
// for.
TEST_F(LoaderTest, KeepsWhatIsHeldAndRefusesMore) {
  for (const std::uint32_t prefetch : {0U, 1U, 3U}) {
    LoaderOptions o = options("buffer");
    o.window_bytes = 60'000;
    o.prefetch = prefetch;
    const auto loader = open(o);
    ASSERT_GE(loader->most_held(), 1U);
    ASSERT_LE(loader->most_held(), loader->batches());
    std::vector<std::pair<LoadedSample, std::string>> out;
    for (std::uint32_t i = 0; i < loader->most_held(); ++i) {
      const auto batch = loader->next();
      ASSERT_TRUE(batch) << loader->error();
      for (const LoadedSample& s : batch->samples) {
        out.emplace_back(s, file_of(*loader, s.index));
      }
    }
    if (loader->most_held() < loader->batches()) {
      EXPECT_FALSE(loader->next());
      EXPECT_NE(loader->error().find("release()"), std::string::npos) << loader->error();
    }
    for (const auto& [sample, bytes] : out) {
      EXPECT_EQ(text(sample), bytes);
    }
    loader->release();
    EXPECT_TRUE(loader->next()) << loader->error();
    EXPECT_EQ(loader->error(), "");
  }
}

TEST_F(LoaderTest, OfOneBatchOneIsHeldAtMost) {
  LoaderOptions o = options("buffer");
  o.batch = 1'000'000;
  const auto loader = open(o);
  ASSERT_EQ(loader->batches(), 1U);
  EXPECT_EQ(loader->most_held(), 1U);
}

// Held to the end as well: the loader never waits for what only the caller could give back.
TEST_F(LoaderTest, ComesToItsEndWhateverIsHeld) {
  const auto loader = open(options("reservoir"));
  std::uint32_t out = 0, number = 0;
  while (const auto batch = loader->next()) {
    ++number;
    if (++out == loader->most_held()) {
      loader->release();
      --out;
    }
  }
  EXPECT_EQ(number, loader->batches());
  EXPECT_EQ(loader->error(), "");
}

TEST_F(LoaderTest, SaysWhichSamplesAreMissing) {
  const auto loader = open(options());
  ASSERT_TRUE(loader->next());
  loader->release();
  std::filesystem::resize_file(dir_.path() + "/class2/f299", 10);
  std::size_t samples = 16;
  while (const auto batch = loader->next()) {
    samples += batch->samples.size();
    loader->release();
  }
  EXPECT_EQ(samples, kFiles - 1);
  EXPECT_NE(loader->error().find("1 samples could not be read"), std::string::npos);
  EXPECT_NE(loader->error().find("class2/f299"), std::string::npos) << loader->error();
}

TEST_F(LoaderTest, EndsWhenItIsInterrupted) {
  const auto loader = open(options());
  ASSERT_TRUE(loader->next());
  std::thread([&] {
    loader->interrupt();
  }).join();  // before the window has room for the last batch
  while (loader->next()) {
    loader->release();
  }
  EXPECT_NE(loader->error(), "");
}

TEST_F(LoaderTest, WaitsNoLongerThanAskedAndCountsWhatItWaited) {
  using namespace std::chrono_literals;
  LoaderOptions o = options();
  o.held = true;  // nothing comes
  const auto loader = open(o);
  EXPECT_FALSE(loader->wait(20ms));
  EXPECT_GE(loader->stats().waited_ns, 20'000'000);
  loader->begin();
  EXPECT_TRUE(loader->wait(1h));  // far less: it is woken by the batch
  EXPECT_TRUE(loader->ready());
  const std::int64_t waited = loader->stats().waited_ns;
  EXPECT_TRUE(loader->next());
  EXPECT_GE(loader->stats().waited_ns, waited);
}

TEST_F(LoaderTest, MayBeLeftAtAnyTime) {
  for (int taken = 0; taken < 4; ++taken) {
    const auto loader = open(options("buffer"));
    for (int i = 0; i < taken && static_cast<std::uint32_t>(i) < loader->most_held(); ++i) {
      EXPECT_TRUE(loader->next());
    }
  }
}

TEST_F(LoaderTest, RefusesWhatItCannotDoInOneLine) {
  LoaderOptions o = options();
  o.order = "sideways";
  EXPECT_EQ(refusal(o),
            "order = \"sideways\": it is one of random, path, directory, inode, lba, chunked, "
            "recorded, reverse, elevator");
  o = options();
  o.depth = 0;
  EXPECT_NE(refusal(o).find("depth"), std::string::npos);
  o = options();
  o.catalog = "also.cat";
  EXPECT_NE(refusal(o).find("one of data"), std::string::npos);
  o = options();
  o.data = dir_.path() + "/nowhere";
  EXPECT_NE(refusal(o).find("nowhere"), std::string::npos);
  std::filesystem::create_directory(dir_.path() + "/none");
  o.data = dir_.path() + "/none";
  EXPECT_NE(refusal(o).find("no samples"), std::string::npos);
}

std::vector<std::uint32_t> indices_of(Loader& loader) {
  std::vector<std::uint32_t> out;
  while (const auto batch = loader.next()) {
    std::ranges::transform(batch->samples, std::back_inserter(out), &LoadedSample::index);
    loader.release();
  }
  EXPECT_EQ(loader.error(), "");
  return out;
}

TEST_F(LoaderTest, RanksShareAnEpochAndARestGoesOn) {
  const std::vector<std::uint32_t> whole = indices_of(*open(options("reservoir")));
  std::string error;
  const auto data = LoaderData::open(dir_.path(), "", error);
  ASSERT_TRUE(data) << error;
  EXPECT_EQ(data->samples(), kFiles);
  LoaderOptions o = options("reservoir");
  o.first_sample = 100;
  o.ranks = 3;
  std::vector<std::uint32_t> joined(whole.begin(), whole.begin() + 100);
  joined.resize(kFiles);
  for (o.rank = 0; o.rank < o.ranks; ++o.rank) {
    const auto loader = Loader::open(data, o, error);
    ASSERT_TRUE(loader) << error;
    const std::vector<std::uint32_t> mine = indices_of(*loader);
    EXPECT_EQ(mine.size(), loader->delivers());
    EXPECT_EQ(loader->stats().samples, mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      joined[100 + i * o.ranks + o.rank] = mine[i];
    }
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(LoaderTest, RefusesPartsThatCannotBe) {
  LoaderOptions o = options();
  o.rank = 2;
  o.ranks = 2;
  EXPECT_NE(refusal(o).find("ranks count from 0"), std::string::npos);
  o = options();
  o.first_sample = 5;
  o.epochs = 2;
  EXPECT_NE(refusal(o).find("delivered alone"), std::string::npos);
  o = options();
  o.rank_by_file = true;
  EXPECT_TRUE(open(o));
  o.first_sample = 1;
  EXPECT_NE(refusal(o).find("not equally far"), std::string::npos);
  o = options();
  o.first_epoch = UINT32_MAX - 1;
  EXPECT_TRUE(open(o));
  o.epochs = 2;
  EXPECT_NE(refusal(o).find("too many epochs"), std::string::npos);
  o = options();
  o.check = "never";
  EXPECT_NE(refusal(o).find("every, watched"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
