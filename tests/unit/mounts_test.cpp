// Lines of /proc/self/mountinfo (proc(5)), and whose mount one is.
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <string>
#include <vector>

#include "os/block/blockdev.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::vector<MountFacts> mounts_of(const std::string& text) {
  TempDir dir;
  dir.write("mountinfo", text);
  return mounts(dir.path("mountinfo"));
}

TEST(Mounts, ALineIsTakenApart) {
  const auto found = mounts_of(
      "36 35 98:7 /part /mnt/data rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw,errors=x\n"
      "37 36 0:41 / /mnt/none ro - tmpfs none rw\n");
  ASSERT_EQ(found.size(), 2U);
  const MountFacts& m = found[0];
  EXPECT_EQ(m.id, 36U);
  EXPECT_EQ(m.dev, makedev(98, 7));
  EXPECT_EQ(m.root, "/part");
  EXPECT_EQ(m.mount_point, "/mnt/data");
  EXPECT_EQ(m.options, "rw,noatime;rw,errors=x");
  EXPECT_EQ(m.filesystem, "ext4");
  EXPECT_EQ(m.source, "/dev/sda1");
  EXPECT_EQ(found[1].mount_point, "/mnt/none");
  EXPECT_EQ(found[1].dev, makedev(0, 41));
}

TEST(Mounts, BlanksInNamesComeBackAndNothingElseIsTakenForOne) {
  const auto found =
      mounts_of(R"(36 35 98:0 /a\040b /m\011n\134040\012 rw - ext4 /dev/my\040disk rw)"
                "\n"
                R"(37 35 98:0 /a\09b\ /mnt\04 rw - ext4 \x rw)"
                "\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].root, "/a b");
  EXPECT_EQ(found[0].mount_point, "/m\tn\\040\n");
  EXPECT_EQ(found[0].source, "/dev/my disk");
  EXPECT_EQ(found[1].root, R"(/a\09b\)");
  EXPECT_EQ(found[1].mount_point, R"(/mnt\04)");
  EXPECT_EQ(found[1].source, R"(\x)");
}

TEST(Mounts, OnlyBtrfsIsKnownByItsSource) {
  MountFacts mount;
  mount.source = "/dev/sda1";
  mount.dev = makedev(0, 41);
  for (const char* filesystem : {"ext4", "btrfs", "fuse"}) {
    mount.filesystem = filesystem;
    EXPECT_EQ(is_mount_of(mount, makedev(8, 1), "/dev/sda1"), mount.filesystem == "btrfs");
    EXPECT_FALSE(is_mount_of(mount, makedev(8, 2), "/dev/sda2"));
    EXPECT_TRUE(is_mount_of(mount, makedev(0, 41), "/dev/other"));
  }
}

TEST(Mounts, APathIsUnderAMountPointByWholeNames) {
  EXPECT_TRUE(is_under("/mnt/data", "/mnt/data"));
  EXPECT_TRUE(is_under("/mnt/data/a", "/mnt/data"));
  EXPECT_FALSE(is_under("/mnt/data2", "/mnt/data"));
  EXPECT_FALSE(is_under("/mnt", "/mnt/data"));
  EXPECT_TRUE(is_under("/anything", "/"));
}

}  // namespace
}  // namespace blksweep
