// A pack is there as a whole or not at all, whatever happens while it gets its names.
#include "dataset/pack_output.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "dataset/pack_index.h"
#include "dataset/scan.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

class PackOutputTest : public ::testing::TestWithParam<PackLayout> {
 protected:
  PackOutputTest() {
    settings_.directory = dir_.path("out");
    settings_.layout = GetParam();
    settings_.shard = Bytes{1};  // every sample its own shard
  }

  // Three entries under the final names, whatever the layout.
  PackOutput filled() {
    auto out = PackOutput::begin(settings_);
    EXPECT_TRUE(out) << out.error().message();
    PackIndex index;
    for (const char* path : {"a/1", "b/2", "c/3"}) {
      const std::string name(path);
      const auto at = out->add({name, std::as_bytes(std::span("bytes")), 0644});
      EXPECT_TRUE(at) << at.error().message();
      index.add(at->file, at->offset, 6);
    }
    EXPECT_TRUE(index.save(out->index_path()));
    return *std::move(out);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(settings_.directory)) {
      names.push_back(e.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  std::string last() const { return GetParam() == PackLayout::tar ? "shard_000002.tar" : "c"; }
  std::string scan_refusal() const {
    ScanReport report;
    const auto parts = scan(settings_.directory, {}, report);
    return parts ? "" : parts.error().message();
  }

  TempDir dir_;
  PackSettings settings_;
};

using Names = std::vector<std::string>;

TEST_P(PackOutputTest, AWholePackIsThereAndScanned) {
  EXPECT_TRUE(filled().finish("{}"));
  EXPECT_EQ(names().size(), 4);
  EXPECT_EQ(scan_refusal(), "");
}

TEST_P(PackOutputTest, ANameThatIsTakenLeavesNothingOfThePackAndTheOtherAsItWas) {
  for (const bool folder : {false, true}) {
    fs::remove_all(settings_.directory);
    fs::create_directories(settings_.directory);
    {
      PackOutput out = filled();
      if (folder) {
        fs::create_directories(settings_.directory + "/" + last());  // an empty one is replaceable
      } else {
        dir_.write("out/" + last(), "theirs");
      }
      const auto done = out.finish("{}");
      ASSERT_FALSE(done);
      EXPECT_NE(done.error().message().find(last()), std::string::npos);
    }
    EXPECT_EQ(names(), Names{last()});
    EXPECT_TRUE(folder || read_file(settings_.directory + "/" + last()) == "theirs");
  }
}

TEST_P(PackOutputTest, AManifestThatCannotBeWrittenLeavesNothing) {
  {
    PackOutput out = filled();
    fs::create_directories(pack_manifest_path(settings_.directory) + "/in the way");
    EXPECT_FALSE(out.finish("{}"));
  }
  EXPECT_FALSE(fs::exists(settings_.directory));
}

TEST_P(PackOutputTest, WhatCannotBeTakenBackStaysMarked) {
  {
    PackOutput out = filled();
    fs::create_directories(pack_manifest_path(settings_.directory) + "/in the way");
    EXPECT_FALSE(out.finish("{}"));
    fs::remove_all(pack_manifest_path(settings_.directory));
    fs::remove_all(settings_.directory + "/" + std::string(kPackFolder) + "/incoming");
  }
  EXPECT_NE(scan_refusal().find("cut off"), std::string::npos);
}

// Killed by the signal of a file that may not grow: at the manifest, when all names are taken; with
// shards already at the end of the last one.
TEST_P(PackOutputTest, AfterAKillReadersAndTheNextPackSayThatItWasCutOff) {
  const auto killed_at_the_manifest = [this] {
    PackOutput out = filled();
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    out.finish("{}").has_value();
  };
  EXPECT_EXIT(killed_at_the_manifest(), ::testing::KilledBySignal(SIGXFSZ), "");
  const std::string pack_folder(kPackFolder);
  ASSERT_EQ(names(), last() == "c" ? (Names{pack_folder, "a", "b", "c"}) : Names{pack_folder});
  // As if it had come one rename earlier, and then before the first.
  for (const char* back : {"", "c", "b", "a"}) {
    if (fs::exists(settings_.directory + "/" + back) && *back != '\0') {
      const std::string incoming = settings_.directory + "/" + pack_folder + "/incoming";
      fs::create_directories(incoming);
      fs::rename(settings_.directory + "/" + back, incoming + "/" + back);
    }
    EXPECT_NE(scan_refusal().find("cut off"), std::string::npos) << back;
    const auto again = PackOutput::begin(settings_);
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message().find("cut off"), std::string::npos) << back;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PackOutputTest,
                         ::testing::Values(PackLayout::files, PackLayout::tar));

}  // namespace
}  // namespace blksweep
