// A folder that is exchanged for another one, and back, is noticed on each filesystem whose files
// have addresses; names that come and go below it are not.
#include "dataset/folder_times.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "dataset/data_files.h"
#include "dataset/scan.h"
#include "loader/source.h"
#include "support/loop_fs.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

class FolderTimesOn : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const Result<> made = fs_.make({GetParam(), {}}); !made) {
      GTEST_SKIP() << made.error().message();
    }
    for (const char* set : {"data", "other"}) {
      for (const char* file : {"a/x/1", "a/x/2", "a/y/3", "b/4"}) {
        write(std::string(set) + "/" + file);
      }
    }
    auto opened = open_source({fs_.path("data"), ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
  }
  void write(const std::string& name) const {
    fs::create_directories(fs::path(fs_.path(name)).parent_path());
    std::ofstream(fs_.path(name)) << std::string(5000, 'x');
  }
  void exchange(const std::string& folder) const {
    ASSERT_EQ(::renameat2(AT_FDCWD, fs_.path("data" + folder).c_str(), AT_FDCWD,
                          fs_.path("other" + folder).c_str(), RENAME_EXCHANGE),
              0);
  }
  // What is said after `act`, a tick of the filesystem's clock after the first look.
  std::string after(const std::function<void()>& act) const {
    const FolderTimes times = FolderTimes::of(source_.catalog);
    std::this_thread::sleep_for(std::chrono::milliseconds(12));
    act();
    return times.exchanged(source_.catalog);
  }

  LoopFs fs_;
  Source source_;
};

TEST_P(FolderTimesOn, AnExchangeAndBackIsNamed) {
  for (const std::string folder : {"a", "a/x", "b"}) {
    EXPECT_EQ(after([&] {
                exchange("/" + folder);
                exchange("/" + folder);
              }),
              folder);
  }
}

TEST_P(FolderTimesOn, AFolderThatStaysAwayOrIsGoneIsNamed) {
  EXPECT_EQ(after([&] { fs::rename(fs_.path("data/b"), fs_.path("data/c")); }), "b");
  EXPECT_EQ(after([&] { fs::rename(fs_.path("data/a/y"), fs_.path("away")); }), "a/y");
}

TEST_P(FolderTimesOn, NamesThatComeAndGoAreNone) {
  EXPECT_EQ(after([] {}), "");
  for (const std::string folder : {"", "/a", "/a/x"}) {
    EXPECT_EQ(after([&] {
                write("data" + folder + "/results.db");
                fs::remove(fs_.path("data" + folder + "/results.db"));
              }),
              "")
        << folder;
  }
}

// What was done to the folders above a set is seen when its root is opened, and then no more.
TEST_P(FolderTimesOn, AnotherFolderInPlaceOfTheRootIsRefused) {
  ASSERT_TRUE(DataFiles::open_same_root(source_.catalog));
  exchange("");
  const auto other = DataFiles::open_same_root(source_.catalog);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find(fs_.path("data") + ": another folder is there"),
            std::string::npos)
      << other.error().message();
}

INSTANTIATE_TEST_SUITE_P(Filesystems, FolderTimesOn,
                         ::testing::Values("mkfs.ext4 -q", "mkfs.xfs -q", "mkfs.btrfs -q"),
                         [](const auto& fs) {
                           const std::string name = fs.param;
                           return name.substr(5, name.find(' ') - 5);
                         });

}  // namespace
}  // namespace blksweep
