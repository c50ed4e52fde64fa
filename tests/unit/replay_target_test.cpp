#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <filesystem>

#include "io/read_loop.h"
#include "replay/own_rate.h"
#include "replay/target_files.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

class ReplayFiles : public testing::Test {
 protected:
  TargetFiles below(const std::vector<std::string>& names) {
    return *TargetFiles::below(dir_.path("data"), names, 0);
  }
  TempDir dir_;
};

TEST_F(ReplayFiles, NothingOutsideOfTheFolderIsOpened) {
  dir_.write("secret", "s");
  dir_.write("data/a/b", "12345");
  fs::create_symlink("../secret", dir_.path("data/out"));
  fs::create_symlink("a/b", dir_.path("data/in"));
  fs::create_symlink("..", dir_.path("data/up"));
  const TargetFiles files = below({"a/b", "../secret", dir_.path("secret"), "out", "up/secret", "a",
                                   "none", "in", "a/../../secret", ""});
  const std::vector<bool> good{true, false, false, false, false, false, false, true, false, false};
  for (std::uint32_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(files.refused(i) == nullptr, good[i]) << i << ": " << files.refused(i);
  }
  EXPECT_EQ(files.bytes(0), 5U);
}

TEST_F(ReplayFiles, WhatIsMountedBelowIsAnotherDiskUnlessItIsTheSame) {
  dir_.write("data/own", "x");
  dir_.write("beside/one", "x");
  for (const char* name : {"tmpfs", "bound"}) {
    fs::create_directories(dir_.path(std::string("data/") + name));
  }
  const std::string other = dir_.path("data/tmpfs"), bound = dir_.path("data/bound");
  if (::mount("tmpfs", other.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "needs root to mount";
  }
  dir_.write("data/tmpfs/one", "x");
  EXPECT_EQ(::mount(dir_.path("beside").c_str(), bound.c_str(), nullptr, MS_BIND, nullptr), 0);
  {
    const TargetFiles files = below({"own", "tmpfs/one", "bound/one"});
    EXPECT_EQ(files.refused(0), nullptr);
    EXPECT_STREQ(files.refused(1), "files on a filesystem that is mounted below the folder");
    EXPECT_EQ(files.refused(2), nullptr) << "another mount of the same filesystem";
  }
  EXPECT_EQ(::umount(bound.c_str()), 0);
  EXPECT_EQ(::umount(other.c_str()), 0);
}

TEST_F(ReplayFiles, AGroupNeverLosesItsSlots) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<std::string> names;
  for (int i = 0; i < 400; ++i) {
    names.push_back("f" + std::to_string(i));
    dir_.write("data/" + names.back(), std::string(static_cast<std::size_t>(i) + 1, 'x'));
  }
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  TargetFiles files = below(names);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(files.slots(), 128U);
  std::vector<bool> taken(files.slots());
  for (std::uint32_t i = 0; i < files.slots(); ++i) {
    const int slot = files.slot_of(i);
    ASSERT_GE(slot, 0);
    EXPECT_FALSE(taken[static_cast<std::size_t>(slot)]);
    taken[static_cast<std::size_t>(slot)] = true;
  }
  EXPECT_EQ(files.slot_of(300), ReadAim::kSubmitFirst);
  EXPECT_GE(files.slot_of(5), 0);  // is there
}

TEST(ReplayOwnRate, IsAMillionAndMore) { EXPECT_GT(*own_request_rate(128), 100'000); }

}  // namespace
}  // namespace blksweep
