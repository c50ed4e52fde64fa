#include "disk/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/log.h"
#include "disk/filesystem.h"
#include "disk/loop_device.h"
#include "disk/unmount_patiently.h"
#include "os/block/holders.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

Result<bool> is_empty(const std::string& file) {
  BLKSWEEP_TRY(const Fd fd, open_readonly(file));
  return ::lseek(fd.get(), 0, SEEK_DATA) < 0 && errno == ENXIO;
}

}  // namespace

Result<> check_image_rights() {
  if (::geteuid() != 0) {
    return unsupported("an image needs root (loop device, mount): run it as root");
  }
  const Fd fd(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!fd) {
    return unsupported(sys_error(errno, "open /dev/loop-control").value().message() +
                       ": an image needs it (modprobe loop; in a container: give it the device)");
  }
  return {};
}

Result<std::string> start_image(const ImageWish& wish) {
  BLKSWEEP_CHECK(check_image_rights());
  BLKSWEEP_TRY(const bool fresh, is_empty(wish.file));
  BLKSWEEP_TRY(const AttachedLoop loop,
               attach_loop(wish.file, {.number = wish.loop, .direct_needed = false}));
  if (first_line("/sys/block/" + loop.disk + "/loop/dio") != "1") {
    warn(
        fmt::format("{}: no direct I/O on this filesystem: reads of the disk may come from the "
                    "page cache below it",
                    wish.file));
  }
  std::string device = "/dev/" + loop.disk;
  BLKSWEEP_CHECK(make_filesystem(device, wish.filesystem, fresh));
  BLKSWEEP_CHECK(mount_filesystem(device, wish.filesystem, wish.mount));
  return device;
}

Result<ImageEnd> stop_image(const std::string& file) {
  ImageEnd end;
  for (;;) {
    BLKSWEEP_TRY(const std::optional<std::string> disk, loop_of(file));
    if (!disk) {
      break;
    }
    end.was_up = true;
    BLKSWEEP_TRY(const BlockDevice device, block_device_of_name(*disk));
    BLKSWEEP_TRY(const std::vector<MountFacts> mounted, mounts_of(device));
    for (const MountFacts& mount : mounted) {
      BLKSWEEP_TRY(const std::vector<std::string> warnings, unmount_or_detach(mount));
      end.warnings.insert(end.warnings.end(), warnings.begin(), warnings.end());
    }
    if (const Result<> freed = detach_loop(*disk); !freed) {
      end.warnings.push_back(freed.error().message());  // goes when its last user ends
      break;
    }
  }
  return end;
}

}  // namespace blksweep
