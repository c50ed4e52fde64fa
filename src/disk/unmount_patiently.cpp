#include "disk/unmount_patiently.h"

#include <sys/mount.h>

#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "os/block/holders.h"
#include "os/mount/unmount.h"

namespace blksweep {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(5);

}  // namespace

int unmount_patiently(const MountFacts& mount) {
  const std::int64_t until = now_ns() + kPatience.count();
  for (int e = unmount_exactly(mount, 0); e != 0; e = unmount_exactly(mount, 0)) {
    if (e != EBUSY || now_ns() > until || !holders_of({mount.mount_point}).empty()) {
      return e;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

Result<std::vector<std::string>> unmount_or_detach(const MountFacts& mount) {
  const int e = unmount_patiently(mount);
  if (e == 0 || e == EINVAL || e == ENOENT) {
    return std::vector<std::string>();
  }
  if (unmount_exactly(mount, MNT_DETACH) != 0) {
    return sys_error(e, "unmount " + mount.mount_point);
  }
  return std::vector{sys_error(e, "unmount " + mount.mount_point).value().message() +
                     ": it was detached, and goes when nobody uses it"};
}

}  // namespace blksweep
