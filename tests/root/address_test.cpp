// Extents that move are noticed: before a run, during it, and when they move away and back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "dataset/catalog_file.h"
#include "dataset/extent_check.h"
#include "dataset/scan.h"
#include "experiment/experiment.h"
#include "experiment/record/address_record.h"
#include "loader/address_proof.h"
#include "loader/loader.h"
#include "loader/spot_check.h"
#include "loader/verify.h"
#include "support/ext4_loop.h"
#include "support/move_file.h"

namespace blksweep {
namespace {

using support::Ext4Loop;
using support::swap_with;

constexpr int kFiles = 40;

class AddressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs_.ready()) {
      GTEST_SKIP() << fs_.why();
    }
    std::filesystem::create_directory(fs_.mount_point() + "/data");
    for (int f = 0; f < kFiles; ++f) {
      fs_.write(name(f), 20000 + static_cast<std::uint64_t>(f), static_cast<std::uint64_t>(f) + 1);
    }
    auto opened = open_source({data(), ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    cell_.merge = Merge::device;
    cell_.depth = 8;
    cell_.batch = 8;
  }
  std::string data() const { return fs_.mount_point() + "/data"; }
  static std::string name(int f) { return "data/f" + std::to_string(f); }
  std::string path(int f) const { return fs_.mount_point() + "/" + name(f); }
  void move(int f) {
    const Result<> moved = swap_with(path(f), fs_.mount_point() + "/donor" + std::to_string(f));
    ASSERT_TRUE(moved) << moved.error().message();
  }
  RunRecord after(AddressProof& proof) {
    RunRecord run;
    record_addresses(proof.after(source_), run);
    return run;
  }
  // Runs the cell; `on_run` after each of the repeats.
  Result<Exit> sweep(std::uint32_t repeats, const std::function<void()>& on_run) {
    ExperimentSettings settings;
    settings.cells.push_back({cell_, {{{"merge", "device"}}}, {}});
    settings.repeats = repeats;
    settings.verify = true;
    settings.probe = false;
    return run_experiment(
        source_, settings, nullptr,
        [&](const RunEvent& e) {
          runs_.push_back(e.run);
          on_run();
        },
        stop_);
  }

  Ext4Loop fs_;
  Source source_;
  CellSettings cell_;
  std::vector<RunRecord> runs_;
  std::atomic<bool> stop_{false};
};

TEST_F(AddressTest, WhatNobodyMovedIsWhereItWas) {
  const auto check = check_extents(source_.catalog, AskWriters::yes);
  ASSERT_TRUE(check) << check.error().message();
  EXPECT_TRUE(check->clean());
  EXPECT_TRUE(check->held.empty());
  EXPECT_EQ(check->unasked, 0U);
}

TEST_F(AddressTest, AMovedFileIsNamedThoughItsTimesAndInodeStay) {
  move(3);
  const auto check = check_extents(source_.catalog);
  ASSERT_TRUE(check) << check.error().message();
  EXPECT_TRUE(check->changed.empty());
  ASSERT_EQ(check->moved.size(), 1U);
  EXPECT_EQ(check->moved[0].text.substr(0, 4), "f3: ");
  EXPECT_EQ(check->unplaced, 0U) << "it has an address, another one";
}

TEST_F(AddressTest, AQuietRunIsWatched) {
  AddressProof proof(source_, cell_);
  ASSERT_TRUE(proof.before(source_)->clean());
  const RunRecord run = after(proof);
  EXPECT_EQ(run.addresses, "watched");
  EXPECT_FALSE(run.incomplete) << run.incomplete_reason;
}

TEST_F(AddressTest, AFileThatMovesDuringTheRunMakesItIncomplete) {
  AddressProof proof(source_, cell_);
  ASSERT_TRUE(proof.before(source_)->clean());
  move(5);
  const RunRecord run = after(proof);
  EXPECT_TRUE(run.incomplete);
  EXPECT_EQ(run.addresses, "changed");
  EXPECT_NE(run.incomplete_reason.find("moved on the device during the run: f5"),
            std::string::npos);
}

// Extents before and after are equal; in between, the blocks held another file's bytes.
TEST_F(AddressTest, AFileThatMovesAwayAndBackMakesItIncomplete) {
  AddressProof proof(source_, cell_);
  ASSERT_TRUE(proof.before(source_)->clean());
  move(5);
  move(5);
  ASSERT_TRUE(check_extents(source_.catalog)->clean()) << "it did not come back";
  const RunRecord run = after(proof);
  EXPECT_TRUE(run.incomplete);
  EXPECT_NE(run.incomplete_reason.find("written or open for writing during the run (first: f5)"),
            std::string::npos);
}

TEST_F(AddressTest, AWriterThatWasThereBeforeAndStaysIsSeen) {
  const Fd writer(::open(path(7).c_str(), O_RDWR | O_CLOEXEC));
  AddressProof proof(source_, cell_);
  ASSERT_TRUE(proof.before(source_)->clean());
  const RunRecord run = after(proof);
  EXPECT_TRUE(run.incomplete);
  EXPECT_NE(run.incomplete_reason.find("(first: f7)"), std::string::npos);
}

TEST_F(AddressTest, WritersOfOtherFilesDoNotMatter) {
  AddressProof proof(source_, cell_);
  ASSERT_TRUE(proof.before(source_)->clean());
  fs_.write("elsewhere", 4096, 1);
  EXPECT_FALSE(after(proof).incomplete);
}

TEST_F(AddressTest, WithoutDeviceReadsPlacesAreComparedAndWritersAreNotAsked) {
  cell_.merge = Merge::none;
  const Fd writer(::open(path(7).c_str(), O_RDWR | O_CLOEXEC));
  AddressProof quiet(source_, cell_);
  ASSERT_TRUE(quiet.before(source_)->clean());
  EXPECT_EQ(after(quiet).addresses, "compared");
  AddressProof moved(source_, cell_);
  ASSERT_TRUE(moved.before(source_)->clean());
  move(5);
  EXPECT_TRUE(after(moved).incomplete);
}

// overlay has no addresses to compare; files are those of the catalog all the same.
TEST_F(AddressTest, AFileWithoutAnAddressThatIsWrittenDuringTheRunMakesItIncomplete) {
  const std::string root = fs_.mount_point(), merged = root + "/merged";
  for (const char* folder : {"/upper", "/work", "/merged"}) {
    std::filesystem::create_directory(root + folder);
  }
  const std::string layers =
      "lowerdir=" + data() + ",upperdir=" + root + "/upper,workdir=" + root + "/work";
  if (::mount("overlay", merged.c_str(), "overlay", 0, layers.c_str()) != 0) {
    GTEST_SKIP() << "no overlay here";
  }
  cell_.merge = Merge::none;
  source_ = *open_source({merged, ""});
  AddressProof quiet(source_, cell_), written(source_, cell_);
  EXPECT_TRUE(quiet.before(source_)->clean());
  EXPECT_FALSE(after(quiet).incomplete);
  std::ofstream(merged + "/f5", std::ios::app) << 'x';
  const RunRecord run = after(written);
  EXPECT_EQ(written.before(source_)->changed.size(), 1U);
  source_ = {};
  ::umount2(merged.c_str(), MNT_DETACH);
  EXPECT_TRUE(run.incomplete);
  EXPECT_NE(run.incomplete_reason.find("1 of 40 files changed during the run: f5: size"),
            std::string::npos)
      << run.incomplete_reason;
}

// The pull interface makes the same promise: it ends with an error, though each batch came.
TEST_F(AddressTest, ALoaderSaysThatAFileMovedWhileItRead) {
  for (const bool moves : {false, true}) {
    std::string error;
    const auto loader =
        Loader::open({.data = data(), .merge = "device", .engine = "psync", .batch = 8}, error);
    ASSERT_TRUE(loader) << error;
    ASSERT_TRUE(loader->next());
    if (moves) {
      move(5);
    }
    std::uint32_t batches = 1;
    loader->release();
    while (loader->next()) {
      ++batches;
      loader->release();
    }
    EXPECT_EQ(batches, loader->batches());
    EXPECT_EQ(loader->error().find("moved on the device during the run") != std::string::npos,
              moves)
        << loader->error();
  }
}

TEST_F(AddressTest, BetweenTheRunsOfASweepTheCatalogIsMadeAnewAndTheRunSaysSo) {
  const auto exit = sweep(2, [&] { move(9); });
  ASSERT_TRUE(exit) << exit.error().message();
  ASSERT_EQ(runs_.size(), 2U);
  for (const RunRecord& run : runs_) {
    EXPECT_FALSE(run.incomplete) << run.incomplete_reason;
    EXPECT_EQ(run.wrong_samples, 0U);
    EXPECT_EQ(run.addresses, "watched");
  }
  EXPECT_NE(runs_[0].layout, runs_[1].layout);
  ASSERT_FALSE(runs_[1].warnings.empty());
  EXPECT_NE(runs_[1].warnings[0].find("catalog was made anew"), std::string::npos);
}

TEST_F(AddressTest, OtherBytesInASweepEndItByName) {
  const auto exit = sweep(2, [&] { fs_.write(name(9), 20009, 77); });
  ASSERT_FALSE(exit);
  EXPECT_EQ(runs_.size(), 1U);
  EXPECT_NE(exit.error().message().find("f9: "), std::string::npos);
}

TEST_F(AddressTest, ACatalogFileThatIsStaleIsRefusedWithTheWayOut) {
  const std::string file = fs_.mount_point() + "/data.cat";
  ScanReport report;
  const auto parts = scan(data(), {}, report);
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_TRUE(write_catalog(file, *parts));
  move(2);
  auto opened = open_source({"", file});
  ASSERT_TRUE(opened) << opened.error().message();
  source_ = *std::move(opened);
  const auto exit = sweep(1, [] {});
  ASSERT_FALSE(exit);
  EXPECT_TRUE(runs_.empty());
  EXPECT_NE(exit.error().message().find("1 of 40 files lie elsewhere"), std::string::npos);
  EXPECT_NE(exit.error().message().find("blksweep catalog " + data() + " -o " + file),
            std::string::npos);
}

// Every proof of addresses left out: the check alone, on what a stale catalog delivers.
TEST_F(AddressTest, TheCheckOfDeliveredBytesFindsThoseOfAnotherFile) {
  for (int f = 0; f < kFiles; ++f) {
    move(f);
  }
  const auto planned = plan_epoch(source_, cell_, 1);
  ASSERT_TRUE(planned);
  auto node = RunNode::borrow(source_, {}, 1, stop_);
  ASSERT_TRUE(node);
  const StageMakers makers;
  for (const bool check : {true, false}) {
    const auto run = measure_run({.source = source_,
                                  .cell = cell_,
                                  .planned = *planned,
                                  .check = check,
                                  .addresses = nullptr,
                                  .node = *node,
                                  .stop = stop_,
                                  .makers = makers});
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->record.incomplete, check) << run->record.incomplete_reason;
    EXPECT_EQ(run->record.checked_pieces.has_value(), check);
    EXPECT_EQ(run->record.checked_wrong.value_or(0), check ? kFiles : 0);
  }
}

TEST_F(AddressTest, TheCheckOfDeliveredBytesPassesWhatIsRight) {
  const auto exit = [&] {
    ExperimentSettings settings;
    settings.cells.push_back({cell_, {{{"merge", "device"}}}, {}});
    settings.probe = false;
    return run_experiment(
        source_, settings, nullptr, [&](const RunEvent& e) { runs_.push_back(e.run); }, stop_);
  }();
  ASSERT_TRUE(exit) << exit.error().message();
  EXPECT_EQ(runs_[0].checked_pieces, kFiles);
  EXPECT_EQ(runs_[0].checked_wrong, 0U);
  EXPECT_FALSE(runs_[0].incomplete) << runs_[0].incomplete_reason;
}

}  // namespace
}  // namespace blksweep
