#include "os/mount/unmount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"

namespace blksweep {
namespace {

bool is_there(const Fd& folder, const std::string& name, const MountFacts& mount) {
  struct statx st {};
  if (::statx(folder.get(), name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
              STATX_TYPE | STATX_MNT_ID, &st) != 0) {
    return false;
  }
  return (st.stx_mask & STATX_MNT_ID) != 0
             ? st.stx_mnt_id == mount.id
             : makedev(st.stx_dev_major, st.stx_dev_minor) == mount.dev;
}

}  // namespace

int unmount_exactly(const MountFacts& mount, int flags) {
  const std::filesystem::path point = mount.mount_point;
  const Fd folder(::open(point.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    return errno;
  }
  const std::string name = point.filename().string();
  if (!is_there(folder, name, mount)) {
    return ENOENT;
  }
  const std::string exactly = fmt::format("/proc/self/fd/{}/{}", folder.get(), name);
  return ::umount2(exactly.c_str(), flags | UMOUNT_NOFOLLOW) == 0 ? 0 : errno;
}

}  // namespace blksweep
