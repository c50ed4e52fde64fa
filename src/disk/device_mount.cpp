#include "disk/device_mount.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "disk/filesystem.h"
#include "os/block/blockdev.h"
#include "os/block/holders.h"

namespace blksweep {
namespace {

constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV;

const char* without_replay(const std::string& filesystem) {
  return filesystem == "ext4" || filesystem == "ext3" ? "noload"
         : filesystem == "xfs"                        ? "norecovery"
         : filesystem == "btrfs"                      ? "rescue=nologreplay"
                                                      : nullptr;
}

Result<> show_again(const MountFacts& there, const std::string& folder) {
  const char* from = there.mount_point.c_str();
  if (::mount(from, folder.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount(nullptr, folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | kFlags, nullptr) != 0) {
    return sys_error(errno, fmt::format("mount {} on {} for reading", from, folder));
  }
  return {};
}

}  // namespace

Result<std::string> real_device(const std::string& device) {
  std::error_code ec;
  std::string real = std::filesystem::canonical(device, ec).string();
  struct stat st {};
  if (ec || ::stat(real.c_str(), &st) != 0) {
    return sys_error(ec ? ec.value() : errno, "look at " + device);
  }
  if (!S_ISBLK(st.st_mode)) {
    return fail(device + ": not a block device: name one such as /dev/sdb1");
  }
  return real;
}

Result<> mount_read_only(const std::string& device, const std::string& folder) {
  if (::geteuid() != 0) {
    return unsupported("mounting " + device + " needs root");
  }
  struct stat st {};
  if (::stat(device.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + device);
  }
  BLKSWEEP_TRY(const BlockDevice found, block_device_of_dev(st.st_rdev));
  BLKSWEEP_TRY(const std::vector<MountFacts> mounted, mounts_of(found));
  for (const MountFacts& there : mounted) {
    if (there.root == "/") {
      return show_again(there, folder);
    }
  }
  BLKSWEEP_TRY(const std::string filesystem, content_of(device));
  if (filesystem.empty()) {
    return fail(device + ": no filesystem that is known: it is not formatted, only read");
  }
  if (::mount(device.c_str(), folder.c_str(), filesystem.c_str(), kFlags,
              without_replay(filesystem)) != 0) {
    return sys_error(errno,
                     fmt::format("mount {} ({}) on {} for reading", device, filesystem, folder));
  }
  return {};
}

}  // namespace blksweep
