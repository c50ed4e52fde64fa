// A file that is opened by handle is the one that was there by name, whatever takes its name later.
#include "dataset/file_handles.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "dataset/data_files.h"
#include "experiment/experiment.h"
#include "loader/source.h"
#include "support/loop_fs.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr int kHandled = 200;

class FileHandlesOn : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const Result<> made = fs_.make({GetParam(), {}}); !made) {
      GTEST_SKIP() << made.error().message();
    }
    for (int f = 0; f < kHandled; ++f) {
      write(f, text_of(f));
    }
    auto opened = open_source({fs_.path("data"), ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    auto data = DataFiles::open_same_root(source_.catalog);
    ASSERT_TRUE(data);
    data_.emplace(*std::move(data));
  }
  static std::string text_of(int f) { return "content " + std::to_string(f); }
  static std::string name(int f) { return std::to_string(f % 7) + "/" + std::to_string(f); }
  std::string path(int f) const { return fs_.path("data/" + name(f)); }
  void write(int f, const std::string& text) const {
    fs::create_directories(fs::path(path(f)).parent_path());
    std::ofstream(path(f)) << text;
  }
  // What opening gives: the text, or "error N".
  std::string read(std::uint32_t file) {
    std::string scratch;
    errno = EPERM;  // of something before
    const int opened = data_->open_same(file, 0, scratch);
    if (opened < 0) {
      return "error " + std::to_string(-opened);
    }
    const Fd fd(opened);
    std::string text(100, 0);
    text.resize(static_cast<std::size_t>(::pread(fd.get(), text.data(), text.size(), 0)));
    return text;
  }
  int number_of(std::uint32_t file) const {
    return std::stoi(fs::path(source_.catalog.path(file)).filename());
  }

  LoopFs fs_;
  Source source_;
  std::optional<DataFiles> data_;
};

TEST_P(FileHandlesOn, EachFileIsTheOneThatWasThereByName) {
  const Result<> used = data_->use_handles();
  ASSERT_TRUE(used) << used.error().message();
  fs::rename(fs_.path("data/3"), fs_.path("data/elsewhere"));  // no name is looked up
  const auto held = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = held();
  for (std::uint32_t f = 0; f < kHandled; ++f) {
    EXPECT_EQ(read(f), text_of(number_of(f)));
  }
  EXPECT_EQ(held(), before) << "descriptors";
}

TEST_P(FileHandlesOn, WhatTookANameIsNotOpened) {
  ASSERT_TRUE(data_->use_handles());
  std::set<int> gone;
  for (std::uint32_t f = 0; f < kHandled; f += 10) {
    fs::remove(path(number_of(f)));
    gone.insert(number_of(f));
  }
  for (const int f : gone) {
    write(f, "another file");  // the filesystem gives the inodes of the removed ones again
  }
  for (std::uint32_t f = 0; f < kHandled; ++f) {
    EXPECT_EQ(read(f), gone.contains(number_of(f)) ? "error " + std::to_string(ESTALE)
                                                   : text_of(number_of(f)));
  }
}

TEST_P(FileHandlesOn, AFileThatIsMissingBeforeHasNone) {
  fs::remove(path(number_of(5)));
  ASSERT_TRUE(data_->use_handles());
  EXPECT_EQ(read(5), "error " + std::to_string(ENOENT));
  EXPECT_EQ(read(6), text_of(number_of(6)));
}

TEST_P(FileHandlesOn, ARunDeliversTheSameSamples) {
  std::set<std::vector<std::uint32_t>> orders;
  const std::atomic<bool> stop{false};
  for (const OpenBy by : {OpenBy::path, OpenBy::handle}) {
    ExperimentSettings settings;
    CellSettings cell;
    cell.open_by = by;
    settings.cells.push_back({cell, {{{"order", "lba"}}}, {}});
    settings.verify = true;
    settings.probe = false;
    const Result<Exit> ended = run_experiment(
        source_, settings, nullptr,
        [&](const RunEvent& e) {
          EXPECT_FALSE(e.run.incomplete) << e.run.incomplete_reason;
          EXPECT_EQ(e.run.samples, kHandled);
          orders.emplace(e.emitted.begin(), e.emitted.end());
        },
        stop);
    EXPECT_TRUE(ended);
  }
  EXPECT_EQ(orders.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Filesystems, FileHandlesOn,
                         ::testing::Values("mkfs.ext4 -q", "mkfs.xfs -q", "mkfs.btrfs -q"),
                         [](const auto& on) {
                           const std::string mkfs = on.param;
                           return mkfs.substr(5, mkfs.find(' ') - 5);
                         });

}  // namespace
}  // namespace blksweep
