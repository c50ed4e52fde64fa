#include "dataset/pack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/rng.h"
#include "codec/half.h"
#include "dataset/pack_index.h"
#include "dataset/scan.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;  // path -> bytes

const std::atomic<bool> kNoStop{false};

std::string bytes_of(std::size_t size, bool random) {
  std::string out;
  Rng rng(size);
  while (out.size() < size) {
    const std::uint64_t word = random ? rng.next() : (out.size() / 64 & 0x0F) * 0x0101010101010101;
    out.append(std::string_view(reinterpret_cast<const char*>(&word), sizeof word));
  }
  out.resize(size);
  return out;
}

std::string halved(const std::string& floats) {
  std::string out(floats.size() / 2, '\0');
  floats_to_halves(std::as_bytes(std::span(floats)), std::as_writable_bytes(std::span(out)));
  return out;
}

class PackTest : public ::testing::Test {
 protected:
  PackTest() {
    for (const std::size_t size : {0UL, 1UL, 4096UL, 3UL << 20}) {
      for (const bool random : {false, true}) {
        const std::string path = std::string(random ? "b/" : "a/") + std::to_string(size);
        source_[path] = bytes_of(size, random);
      }
    }
    source_["c/" + std::string(120, 'n')] = bytes_of(500, true);  // longer than a tar name
    for (const auto& [path, bytes] : source_) {
      dir_.write("src/" + path, bytes);
    }
    settings_.source = dir_.path("src");
    settings_.directory = dir_.path("out");
    settings_.tool = "test";
  }

  PackReport pack() {
    auto report = pack_dataset(settings_, {}, kNoStop);
    EXPECT_TRUE(report) << report.error().message();
    return report ? *report : PackReport{};
  }

  // All samples of a packed folder as a scan finds them, decoded, in catalog order.
  std::vector<std::pair<std::string, std::string>> decoded(const std::string& folder) {
    std::vector<std::pair<std::string, std::string>> out;
    ScanReport report;
    auto parts = scan(folder, {}, report);
    EXPECT_TRUE(parts) << parts.error().message();
    auto index = PackIndex::load(pack_index_path(folder));
    EXPECT_TRUE(index) << index.error().message();
    const Catalog catalog = parts->view();
    EXPECT_EQ(index->size(), catalog.samples());
    for (std::uint32_t i = 0; i < catalog.samples(); ++i) {
      const Sample s = catalog.sample(i);
      const std::string stored = read_file(catalog.full_path(s.file)).substr(s.offset, s.length);
      const auto bytes = std::as_bytes(std::span(stored));
      auto header = read_header(bytes, bytes.size());
      EXPECT_TRUE(header) << header.error().message();
      EXPECT_EQ(index->bytes_of(catalog.path(s.file), s.offset), header->decoded_bytes);
      std::string plain(header->decoded_bytes, '\0');
      const auto done = Decoder().decode(*header, bytes.subspan(kSampleHeaderBytes),
                                         std::as_writable_bytes(std::span(plain)));
      EXPECT_TRUE(done) << done.error().message();
      out.emplace_back(catalog.label(s.label), std::move(plain));
    }
    return out;
  }

  Contents tree_of(const std::string& folder) {
    Contents out;
    for (const auto& e : fs::recursive_directory_iterator(folder)) {
      if (e.is_regular_file()) {
        out[fs::relative(e.path(), folder)] = read_file(e.path());
      }
    }
    return out;
  }

  TempDir dir_;
  Contents source_;
  PackSettings settings_;
};

TEST_F(PackTest, EveryCodecTypeAndLayoutGivesTheSamplesBack) {
  for (const Codec codec : {Codec::none, Codec::zstd, Codec::lz4, Codec::blosc}) {
    for (const ElementType dtype : {ElementType::raw, ElementType::fp16}) {
      for (const PackLayout layout : {PackLayout::files, PackLayout::tar}) {
        settings_.encode = {codec, dtype, 0};
        settings_.layout = layout;
        settings_.directory = dir_.path("out") + std::to_string(int(codec)) +
                              std::to_string(int(dtype)) + std::to_string(int(layout));
        const PackReport report = pack();
        EXPECT_EQ(report.kept_raw, dtype == ElementType::fp16 ? 2 : 0);  // those of 1 byte
        EXPECT_EQ(report.warnings.size(), dtype == ElementType::fp16 ? 1U : 0U);
        const auto samples = decoded(settings_.directory);
        ASSERT_EQ(samples.size(), source_.size());
        std::size_t i = 0;
        for (const auto& [path, bytes] : source_) {
          const bool half = dtype == ElementType::fp16 && bytes.size() % 4 == 0;
          EXPECT_EQ(samples[i].first, path.substr(0, 1));
          EXPECT_EQ(samples[i++].second, half ? halved(bytes) : bytes) << path;
        }
      }
    }
  }
}

TEST_F(PackTest, ShardsAreClosedAtTheirSize) {
  settings_.shard = Bytes{std::uint64_t{4} << 20};
  EXPECT_EQ(pack().on_disk_files, 2);
  EXPECT_EQ(decoded(settings_.directory).size(), source_.size());
}

// Of small samples a shard is heads and padding for the most part.
TEST_F(PackTest, TheFilesHaveTheSizeThatIsTold) {
  for (const PackLayout layout : {PackLayout::tar, PackLayout::files}) {
    settings_.layout = layout;
    settings_.shard = Bytes{std::uint64_t{4} << 20};
    settings_.directory = dir_.path(layout == PackLayout::tar ? "tar" : "files");
    const PackReport report = pack();
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(settings_.directory)) {
      const bool ours = entry.path().string().find("/.blksweep-pack/") != std::string::npos;
      bytes += entry.is_regular_file() && !ours ? entry.file_size() : 0;
    }
    EXPECT_EQ(report.on_disk_bytes, bytes);
  }
}

TEST_F(PackTest, TheSameInputGivesTheSameBytesWithAnyNumberOfThreads) {
  settings_.encode.codec = Codec::zstd;
  pack();
  const Contents first = tree_of(settings_.directory);
  settings_.directory = dir_.path("again");
  settings_.threads = 4;
  pack();
  EXPECT_EQ(tree_of(settings_.directory), first);
}

TEST_F(PackTest, TheManifestSaysWhatWasDone) {
  settings_.encode = {Codec::zstd, ElementType::fp16, 7};
  const PackReport r = pack();
  const auto j = nlohmann::json::parse(read_file(pack_manifest_path(settings_.directory)));
  EXPECT_EQ(j["compress"], "zstd");
  EXPECT_EQ(j["dtype"], "fp16");
  EXPECT_EQ(j["level"], 7);
  EXPECT_EQ(j["samples"], source_.size());
  EXPECT_EQ(j["decoded_bytes"], r.decoded_bytes);
  EXPECT_EQ(j["kept_raw"], 2);
}

TEST_F(PackTest, AStopLeavesNothingBehind) {
  const std::atomic<bool> stop{true};
  const auto report = pack_dataset(settings_, {}, stop);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().exit_code, Exit::interrupted);
  EXPECT_FALSE(fs::exists(settings_.directory));
}

TEST_F(PackTest, AFailureLeavesAFolderThatWasThereEmpty) {
  fs::create_directories(settings_.directory);
  fs::resize_file(dir_.path("src/a/1"), (std::uint64_t{1} << 30) + 1);  // sparse
  const auto report = pack_dataset(settings_, {}, kNoStop);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message().find("a/1"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(settings_.directory));
}

// "z" comes last: while one thread compresses "y", there is time for it to grow.
TEST_F(PackTest, AFileThatGrowsTakesNoMoreMemoryThanItsBlockHas) {
  const std::string path = dir_.path("src/z");
  dir_.write("src/y", std::string(std::size_t{4} << 20, 'y'));
  dir_.write("src/z", "x");
  settings_.encode = {Codec::zstd, ElementType::raw, 19};
  settings_.threads = 1;
  std::atomic<bool> growing{false};
  std::jthread grower([&](const std::stop_token& stop) {
    for (std::uint64_t size = 1; !stop.stop_requested() && size < kMaxDecodedBytes; size += 64) {
      fs::resize_file(path, size);  // sparse
      growing = true;
    }
  });
  while (!growing) {
    std::this_thread::yield();
  }
  const auto report = pack_dataset(settings_, {}, kNoStop);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(), "pack z: it grew while it was packed");
}

TEST_F(PackTest, AFolderThatLetsNobodyThroughProtectsItsFiles) {
  for (const auto& [folder, mode] : {std::pair{"b", 0750}, std::pair{"c", 0700}}) {
    ASSERT_EQ(::chmod(dir_.path(std::string("src/") + folder).c_str(), mode_t(mode)), 0);
  }
  for (const auto& [path, bytes] : source_) {
    ASSERT_EQ(::chmod(dir_.path("src/" + path).c_str(), 0644), 0);
  }
  settings_.layout = PackLayout::files;
  pack();
  const auto mode_of = [&](const std::string& folder) {
    const fs::directory_entry first = *fs::directory_iterator(settings_.directory + "/" + folder);
    return static_cast<unsigned>(first.status().permissions());
  };
  EXPECT_EQ(mode_of("a") & 077U, 044U);
  EXPECT_EQ(mode_of("b") & 077U, 040U);
  EXPECT_EQ(mode_of("c") & 077U, 0U);
}

TEST_F(PackTest, RefusesFoldersThatWouldBeMixed) {
  for (const char* out : {"src", "src/packed", ""}) {
    settings_.directory = dir_.path(out);
    EXPECT_FALSE(pack_dataset(settings_, {}, kNoStop)) << out;
  }
  dir_.write("full/file", "x");
  settings_.directory = dir_.path("full");
  EXPECT_FALSE(pack_dataset(settings_, {}, kNoStop));
  EXPECT_EQ(tree_of(settings_.directory), (Contents{{"file", "x"}}));
}

TEST_F(PackTest, ADamagedIndexIsRefused) {
  pack();
  const std::string path = pack_index_path(settings_.directory);
  const std::string whole = read_file(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    dir_.write("index", bytes);
    EXPECT_FALSE(PackIndex::load(dir_.path("index"))) << i;
    dir_.write("index", whole.substr(0, i));
    EXPECT_FALSE(PackIndex::load(dir_.path("index"))) << i;
  }
}

}  // namespace
}  // namespace blksweep
