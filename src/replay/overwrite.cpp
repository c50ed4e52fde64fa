#include "replay/overwrite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/memory.h"
#include "base/units.h"
#include "disk/filesystem.h"
#include "disk/loop_device.h"
#include "os/block/blockdev.h"
#include "os/block/holders.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Where signatures lie; blkid says nothing of a place that it cannot read.
constexpr std::uint64_t kSignatures = std::uint64_t{1} << 20;

tl::unexpected<Error> refused(const std::string& device, const std::string& why) {
  return usage_error(fmt::format("--writes {}: {}; nothing was opened for writing", device, why));
}

Result<dev_t> device_at(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "stat " + path);
  }
  return S_ISBLK(st.st_mode) ? Result<dev_t>(st.st_rdev)
                             : Result<dev_t>(usage_error(path + " is no block device"));
}

// "sda1", "sda2": below /sys/block/sda.
Result<bool> has_partitions(const fs::path& sys) {
  BLKSWEEP_TRY(const std::vector<std::string> all, paths_in(sys.string()));
  return std::ranges::any_of(all, [](const std::string& path) {
    struct stat st {};
    return ::stat((path + "/partition").c_str(), &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
  });
}

// Of whom the kernel knows: "dm-0"; empty: nobody.
Result<std::string> claimed_by(const fs::path& sys) {
  BLKSWEEP_TRY(const std::vector<std::string> holders, paths_in((sys / "holders").string()));
  return holders.empty() ? std::string() : fs::path(holders.front()).filename().string();
}

Result<> check_unused(const std::string& name, const BlockDevice& device) {
  const fs::path sys =
      fmt::format("/sys/class/block/{}", fs::path(device.node).filename().string());
  BLKSWEEP_TRY(const std::vector<MountFacts> mounted, mounts_of(device));
  if (!mounted.empty()) {
    return refused(name, "it is mounted on " + mounted.front().mount_point);
  }
  BLKSWEEP_TRY(const bool partitions, has_partitions(sys));
  if (partitions) {
    return refused(name, "it has partitions");
  }
  BLKSWEEP_TRY(const std::string by, claimed_by(sys));
  if (!by.empty()) {
    return refused(name, "it is part of " + by);
  }
  // A loop device takes no claim on the device that it is on.
  BLKSWEEP_TRY(const std::optional<std::string> loop, loop_of(device.node));
  if (loop) {
    return refused(name, *loop + " is on it");
  }
  if (const auto holders = holders_of({device.node}); !holders.empty()) {
    return refused(name, "it is open in " + to_text(holders));
  }
  return {};
}

Result<> check_empty(const std::string& name, const std::string& node) {
  BLKSWEEP_TRY(const std::string content, content_of(node));
  return content.empty() ? Result<>()
                         : Result<>(refused(name, fmt::format("it holds {} (wipefs --all removes "
                                                              "the signature, if it is not needed)",
                                                              content)));
}

Result<> check_readable(const std::string& name, const BlockDevice& device) {
  BLKSWEEP_TRY(PageBuffer memory, PageBuffer::allocate({kSignatures}));
  const Fd fd(open_kind_at(AT_FDCWD, device.node.c_str(), O_DIRECT, S_IFBLK));
  if (!fd) {
    return sys_error(errno, "open " + device.node);
  }
  const std::uint64_t bytes = align_down(std::min(kSignatures, device.size), device.logical_block);
  const std::uint64_t last = align_down(device.size - bytes, device.logical_block);
  for (const std::uint64_t at : {std::uint64_t{0}, last}) {
    if (::pread(fd.get(), memory.span().data(), bytes, static_cast<off_t>(at)) !=
        static_cast<ssize_t>(bytes)) {
      return refused(name, "what it holds cannot be read");
    }
  }
  return {};
}

}  // namespace

Result<Fd> open_to_overwrite(const std::string& device, const std::string& again) {
  BLKSWEEP_TRY(const dev_t dev, device_at(device));
  BLKSWEEP_TRY(const dev_t same, device_at(again));
  if (dev != same) {
    return refused(again, "it is not the device that --device names (" + device + ")");
  }
  BLKSWEEP_TRY(const BlockDevice facts, block_device_of_dev(dev));
  BLKSWEEP_CHECK(check_unused(again, facts));
  BLKSWEEP_CHECK(check_readable(again, facts));
  BLKSWEEP_CHECK(check_empty(again, facts.node));
  Fd fd(open_kind_at(AT_FDCWD, device.c_str(), O_RDWR | O_EXCL | O_DIRECT, S_IFBLK));
  if (!fd && errno == EBUSY) {
    return refused(again, "the kernel says that it is in use");
  }
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "open " + device + " for writing");
  }
  if (st.st_rdev != dev) {
    return refused(again, "another device has taken its name meanwhile");
  }
  BLKSWEEP_CHECK(check_empty(again, facts.node));
  return fd;
}

}  // namespace blksweep
