#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "dataset/make.h"
#include "dataset/scan.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

MakeSettings small(const std::string& directory) {
  MakeSettings s;
  s.directory = directory;
  s.count = 40;
  s.classes = 4;
  s.size = *parse_size_spec("lognormal:3000B");
  return s;
}

// Path below the directory -> content.
std::map<std::string, std::string> tree(const std::string& root) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(root)) {
    if (e.is_regular_file()) {
      out[fs::relative(e.path(), root).string()] = read_file(e.path().string());
    }
  }
  return out;
}

TEST(SizeSpec, AcceptsEachKindAndRefusesTheRest) {
  EXPECT_EQ(to_string(*parse_size_spec("4KiB")), "4096B");
  EXPECT_EQ(to_string(*parse_size_spec("uniform:1KiB-64KiB")), "uniform:1024B-65536B");
  EXPECT_EQ(to_string(*parse_size_spec("lognormal:24KiB:0.7")), "lognormal:24576B:0.7");
  for (const char* text :
       {"", "4", "uniform:4KiB", "uniform:8KiB-4KiB", "lognormal:", "normal:4KiB",
        "lognormal:4KiB:x", "lognormal:4KiB:-1", "lognormal:0", "lognormal:4KiB:nan"}) {
    const auto spec = parse_size_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().exit_code, Exit::usage) << text;
  }
}

TEST(SizeSpec, LognormalHasTheMeanThatWasAskedFor) {
  const SizeSpec spec = *parse_size_spec("lognormal:24KiB:0.5");
  Rng rng(7);
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    sum += static_cast<double>(spec.draw(rng));
  }
  // Standard error of the mean: 24 KiB * sqrt(exp(0.25) - 1) / sqrt(n) = 41 bytes.
  EXPECT_NEAR(sum / kDraws, 24 * 1024, 200);
}

TEST(SizeSpec, UniformReachesBothEnds) {
  const SizeSpec spec = *parse_size_spec("uniform:10B-12B");
  Rng rng(1);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 1000; ++i) {
    ++seen[spec.draw(rng)];
  }
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen.begin()->first, 10U);
}

TEST(Content, DependsOnSeedAndNumberAndNotOnThePieces) {
  const auto bytes = [](std::uint64_t seed, std::uint64_t number, std::size_t piece) {
    std::vector<std::byte> out(100);
    Content content(seed, number);
    for (std::size_t at = 0; at < out.size(); at += piece) {
      content.next(std::span(out).subspan(at, std::min(piece, out.size() - at)));
    }
    return out;
  };
  EXPECT_EQ(bytes(1, 2, 100), bytes(1, 2, 8));
  EXPECT_NE(bytes(1, 2, 100), bytes(1, 3, 100));
  EXPECT_NE(bytes(1, 2, 100), bytes(2, 2, 100));
}

TEST(MakeDataset, TheSameSeedGivesTheSameTree) {
  const TempDir dir;
  ASSERT_TRUE(make_dataset(small(dir.path("a")), {}));
  ASSERT_TRUE(make_dataset(small(dir.path("b")), {}));
  MakeSettings other = small(dir.path("c"));
  other.seed = 2;
  ASSERT_TRUE(make_dataset(other, {}));
  const auto a = tree(dir.path("a"));
  EXPECT_EQ(a.size(), 40U);
  EXPECT_TRUE(a.contains("class_0003/000009.bin"));
  EXPECT_EQ(a, tree(dir.path("b")));
  EXPECT_NE(a, tree(dir.path("c")));
}

TEST(MakeDataset, TarAndRecordsHoldTheSameSamplesAsFiles) {
  const TempDir dir;
  MakeSettings s = small(dir.path("files"));
  s.size = *parse_size_spec("1000B");
  ASSERT_TRUE(make_dataset(s, {}));
  s.directory = dir.path("tar");
  s.format = PackFormat::tar;
  s.shard = {16384};
  const auto tar = make_dataset(s, {});
  ASSERT_TRUE(tar) << tar.error().message();
  EXPECT_GT(tar->on_disk_files, 2U);
  s.directory = dir.path("pairs");
  s.shard = {2 * 1536};  // of each a header, 1000 bytes, and 24 until the next block
  EXPECT_EQ(make_dataset(s, {})->on_disk_files, 20U);
  s.directory = dir.path("records");
  s.format = PackFormat::records;
  ASSERT_TRUE(make_dataset(s, {}));
  std::vector<std::string> wanted;
  for (const auto& [path, bytes] : tree(dir.path("files"))) {
    wanted.push_back(bytes);
  }
  std::ranges::sort(wanted);
  for (const char* folder : {"tar", "records"}) {
    ScanSettings scan_settings;
    scan_settings.records = {std::string_view(folder) == "records" ? 1000U : 0U};
    ScanReport report;
    const auto parts = scan(dir.path(folder), scan_settings, report);
    ASSERT_TRUE(parts) << parts.error().message();
    std::vector<std::string> got;
    for (std::uint32_t i = 0; i < parts->view().samples(); ++i) {
      const Sample m = parts->view().sample(i);
      got.push_back(read_file(parts->view().full_path(m.file)).substr(m.offset, m.length));
    }
    std::ranges::sort(got);
    EXPECT_EQ(got, wanted) << folder;
  }
}

TEST(MakeDataset, RefusesBeforeWriting) {
  const TempDir dir;
  dir.write("full/x", "x");
  const auto not_empty = make_dataset(small(dir.path("full")), {});
  ASSERT_FALSE(not_empty);
  EXPECT_NE(not_empty.error().message().find("is not empty"), std::string::npos);

  MakeSettings huge = small(dir.path("huge"));
  huge.size = *parse_size_spec("1TiB");
  huge.count = 1000;
  const auto no_space = make_dataset(huge, {});
  ASSERT_FALSE(no_space);
  EXPECT_NE(no_space.error().message().find("are free"), std::string::npos);
  EXPECT_TRUE(tree(dir.path("huge")).empty());

  MakeSettings records = small(dir.path("r"));
  records.format = PackFormat::records;
  EXPECT_EQ(make_dataset(records, {}).error().exit_code, Exit::usage);
  MakeSettings none = small(dir.path("n"));
  none.count = 0;
  EXPECT_EQ(make_dataset(none, {}).error().exit_code, Exit::usage);
}

TEST(MakeDataset, BoundsOfItsSettingsMayBeReached) {
  const auto fits = [](auto change) {
    MakeSettings s = small("/nowhere");
    change(s);
    return check_make_settings(s).has_value();
  };
  for (const std::uint64_t count : {1U, 100'000'000U}) {
    EXPECT_TRUE(fits([&](MakeSettings& s) { s.count = count; })) << count;
  }
  for (const std::uint64_t count : {0U, 100'000'001U}) {
    EXPECT_FALSE(fits([&](MakeSettings& s) { s.count = count; })) << count;
  }
  for (const std::uint32_t classes : {1U, 100'000U}) {
    EXPECT_TRUE(fits([&](MakeSettings& s) { s.classes = classes; })) << classes;
  }
  for (const std::uint32_t classes : {0U, 100'001U}) {
    EXPECT_FALSE(fits([&](MakeSettings& s) { s.classes = classes; })) << classes;
  }
  for (const double fragment : {1.0, 1000.0}) {
    EXPECT_TRUE(fits([&](MakeSettings& s) { s.fragment = fragment; })) << fragment;
  }
  for (const double fragment : {0.5, 1000.5}) {
    EXPECT_FALSE(fits([&](MakeSettings& s) { s.fragment = fragment; })) << fragment;
  }
}

}  // namespace
}  // namespace blksweep
