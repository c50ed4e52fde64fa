// Another user's FUSE filesystem says of itself what it likes: it is neither read nor believed.
#include "os/mount/foreign_mounts.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "os/block/blockdev.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr const char* kMounts =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "40 22 0:50 / /data/theirs rw,nosuid,nodev - fuse.x /dev/vda "
    "rw,user_id=65534,group_id=65534,default_permissions,allow_other\n"
    "41 22 0:51 / /home/they/private rw - fuse /dev/vda rw,user_id=65534,group_id=65534\n"
    "42 22 0:52 / /run/io rw - fuse.blksweep blksweep rw,user_id=0,group_id=0,allow_other\n"
    "43 22 0:53 / /pool rw - btrfs /dev/vda rw\n";

TEST(ForeignMounts, AreRefusedAtAPathAboveItAndBelow) {
  const TempDir dir;
  dir.write("mountinfo", kMounts);
  const auto refused = [&](const char* path) {
    const Result<> ok = refuse_foreign_mounts(path, dir.path("mountinfo"));
    return ok ? std::string() : ok.error().message();
  };
  for (const char* path : {"/data", "/data/", "/data/theirs", "/data/theirs/deep/file", "/"}) {
    EXPECT_NE(refused(path).find("another user's FUSE filesystem is mounted on /data/theirs"),
              std::string::npos)
        << path << ": " << refused(path);
  }
  EXPECT_EQ(refused("/data2"), "");
  EXPECT_EQ(refused("/database/theirs"), "");
  EXPECT_EQ(refused("/home/they"), "") << "nobody else may enter it: root gets EACCES at once";
  EXPECT_EQ(refused("/run/io"), "") << "root's own";
}

TEST(ForeignMounts, AreNoMountOfTheDiskThatTheyName) {
  const TempDir dir;
  dir.write("mountinfo", kMounts);
  std::vector<std::string> points;
  for (const MountFacts& m : mounts(dir.path("mountinfo"))) {
    if (is_mount_of(m, makedev(254, 0), "/dev/vda")) {
      points.push_back(m.mount_point);
    }
  }
  EXPECT_EQ(points, (std::vector<std::string>{"/", "/pool"}));
}

}  // namespace
}  // namespace blksweep
