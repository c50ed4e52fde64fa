#include "disk/loop_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <time.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "base/units.h"
#include "os/block/holders.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 64;

std::string queue_file(const std::string& disk, const std::string& name) {
  return "/sys/block/" + disk + "/queue/" + name;
}

Result<Fd> open_for(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd) {
    const int e = errno;
    return fail(
        sys_error(e, "open " + path).value().message(),
        e == EPERM || e == ENOENT || e == ENXIO || e == EACCES ? Exit::unsupported : Exit::failed);
  }
  return fd;
}

Result<std::string> free_loop(const Fd& control) {
  const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) {
    const int e = errno;
    return fail(sys_error(e, "find a free loop device").value().message(), Exit::unsupported);
  }
  return fmt::format("loop{}", number);
}

bool is_bound(const std::string& disk) {
  std::error_code ignored;
  return fs::exists("/sys/block/" + disk + "/loop/backing_file", ignored);
}

// Another number with each file that is attached (diskseq, since Linux 5.15), and the file's name.
std::string attachment_of(const std::string& disk) {
  const std::string block = "/sys/block/" + disk;
  return first_line(block + "/diskseq") + " " + first_line(block + "/loop/backing_file");
}

// "": the disk (/sys/block/loop0) has no file.
Result<std::string> backing_of(const std::string& disk) {
  Result<std::string> text = kernel_text(disk + "/loop/backing_file");
  if (!text) {
    const int e = text.error().sys_errno;
    return e == ENOENT || e == ENXIO || e == ENODEV ? std::string() : std::move(text);
  }
  return text->substr(0, text->find('\n'));
}

// "" where there is none: containers may have no node for a device that was added just now.
std::string add_own_loop(const Fd& control, unsigned number) {
  const std::string disk = fmt::format("loop{}", number);
  const bool there = ::ioctl(control.get(), LOOP_CTL_ADD, number) >= 0 || errno == EEXIST;
  if (!there || is_bound(disk)) {
    return "";
  }
  std::error_code ignored;
  if (fs::exists("/dev/" + disk, ignored)) {
    return disk;
  }
  remove_own_loop(disk);
  return "";
}

// One try: nullopt when another process was faster.
Result<std::optional<AttachedLoop>> try_attach(const std::string& disk, const Fd& data) {
  AttachedLoop loop;
  loop.disk = disk;
  loop.before = {first_line(queue_file(loop.disk, "rotational")),
                 first_line(queue_file(loop.disk, "max_sectors_kb"))};
  BLKSWEEP_TRY(const Fd device, open_for("/dev/" + loop.disk, O_RDWR));
  loop_config config{};
  config.fd = static_cast<__u32>(data.get());
  config.info.lo_flags = LO_FLAGS_DIRECT_IO;
  if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) {
    return std::optional(std::move(loop));
  }
  if (errno == EBUSY) {
    return std::optional<AttachedLoop>();
  }
  const int e = errno;
  return fail(sys_error(e, "attach /dev/" + loop.disk).value().message(),
              e == EINVAL || e == EPERM ? Exit::unsupported : Exit::failed);
}

// A container that was started while the disk was mounted has a mount of its own, which stays.
std::string held_by(const std::string& disk) {
  if (const auto holders = holders_of({"/dev/" + disk}); !holders.empty()) {
    return "held open by " + to_text(holders) + ": end them and try again";
  }
  const Result<BlockDevice> device = block_device_of_name(disk);
  const auto mounted = device ? mounting_processes(*device) : std::vector<Holder>();
  return mounted.empty() ? "held open by a process that is not seen here: end it and try again"
                         : "it is mounted in the mount namespace of " + to_text(mounted) +
                               ": unmount it there and try again";
}

}  // namespace

Result<std::optional<std::string>> loop_of(const std::string& file) {
  BLKSWEEP_TRY(const std::vector<std::string> disks, paths_in("/sys/block"));
  for (const std::string& disk : disks) {
    BLKSWEEP_TRY(const std::string backing, backing_of(disk));
    if (backing == file) {
      return std::optional(fs::path(disk).filename().string());
    }
  }
  return std::optional<std::string>();
}

unsigned own_loop_number(const std::string& name) {
  constexpr unsigned kNumbers = 28672;
  return kFirstOwnLoop + static_cast<unsigned>(XXH3_64bits(name.data(), name.size()) % kNumbers);
}

void remove_own_loop(const std::string& disk) {
  const auto number = parse_count(disk.starts_with("loop") ? disk.substr(4) : "");
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!number || *number < kFirstOwnLoop || !control) {
    return;
  }
  constexpr int kTries = 50;  // somebody may be looking at it (udev)
  for (int i = 0; i < kTries && ::ioctl(control.get(), LOOP_CTL_REMOVE, *number) != 0; ++i) {
    if (errno != EBUSY || is_bound(disk)) {
      return;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

Result<AttachedLoop> attach_loop(const std::string& file, const LoopWish& wish) {
  BLKSWEEP_TRY(const Fd control, open_for("/dev/loop-control", O_RDWR));
  Fd data(::open(file.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!data && (errno != EINVAL || wish.direct_needed)) {
    BLKSWEEP_TRY(data, open_for(file, O_RDWR | O_DIRECT));
  } else if (!data) {
    BLKSWEEP_TRY(data, open_for(file, O_RDWR));
  }
  for (int i = 0; i < kAttempts; ++i) {
    std::string disk = wish.number && i == 0 ? add_own_loop(control, *wish.number) : "";
    if (disk.empty()) {
      BLKSWEEP_TRY(disk, free_loop(control));
    }
    BLKSWEEP_TRY(std::optional<AttachedLoop> loop, try_attach(disk, data));
    if (!loop) {
      continue;
    }
    if (wish.direct_needed && first_line("/sys/block/" + loop->disk + "/loop/dio") != "1") {
      return unsupported("/dev/" + loop->disk +
                         ": this kernel gives no direct I/O on FUSE files to a loop device");
    }
    return *std::move(loop);
  }
  return fail("attach a loop device: others were faster 64 times: try again");
}

Result<> detach_loop(const std::string& disk, Nanos patience) {
  const std::string attached = attachment_of(disk);
  {
    BLKSWEEP_TRY(const Fd device, open_for("/dev/" + disk, O_RDONLY));
    if (::ioctl(device.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) {
      return sys_error(errno, "detach /dev/" + disk);
    }
  }
  const std::int64_t until = now_ns() + patience.count();
  // Its number may be another's at once, and then a file is attached to it all the time.
  while (is_bound(disk) && attachment_of(disk) == attached) {
    if (now_ns() > until) {
      return fail("detach /dev/" + disk + ": " + held_by(disk));
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  remove_own_loop(disk);
  return {};
}

Result<> set_queue_value(const std::string& disk, const std::string& name,
                         const std::string& value) {
  const std::string path = queue_file(disk, name);
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) != std::ssize(value)) {
    return sys_error(errno, fmt::format("write {} into {}", value, path));
  }
  return {};
}

}  // namespace blksweep
