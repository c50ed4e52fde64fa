#include "disk/loop_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "os/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 64;
constexpr std::int64_t kPatienceNs = 10'000'000'000;

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

// One try: nullopt when another process was faster.
Result<std::optional<AttachedLoop>> try_attach(const Fd& control, const Fd& data) {
  const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) {
    const int e = errno;
    return fail(sys_error(e, "find a free loop device").value().message(), Exit::unsupported);
  }
  AttachedLoop loop;
  loop.disk = fmt::format("loop{}", number);
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

}  // namespace

std::optional<std::string> loop_of(const std::string& file) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/sys/block", ec)) {
    if (first_line(entry.path().string() + "/loop/backing_file") == file) {
      return entry.path().filename().string();
    }
  }
  return std::nullopt;
}

Result<AttachedLoop> attach_loop(const std::string& file) {
  BLKSWEEP_TRY(const Fd control, open_for("/dev/loop-control", O_RDWR));
  BLKSWEEP_TRY(const Fd data, open_for(file, O_RDWR | O_DIRECT));
  for (int i = 0; i < kAttempts; ++i) {
    BLKSWEEP_TRY(std::optional<AttachedLoop> loop, try_attach(control, data));
    if (!loop) {
      continue;
    }
    if (first_line("/sys/block/" + loop->disk + "/loop/dio") != "1") {
      return unsupported("/dev/" + loop->disk +
                         ": this kernel gives no direct I/O on FUSE files to a loop device");
    }
    return *std::move(loop);
  }
  return fail("attach a loop device: others were faster 64 times: try again");
}

Result<> detach_loop(const std::string& disk) {
  const std::string file = "/sys/block/" + disk + "/loop/backing_file";
  {
    BLKSWEEP_TRY(const Fd device, open_for("/dev/" + disk, O_RDONLY));
    if (::ioctl(device.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) {
      return sys_error(errno, "detach /dev/" + disk);
    }
  }
  const std::int64_t until = now_ns() + kPatienceNs;
  std::error_code ignored;
  while (fs::exists(file, ignored)) {
    if (now_ns() > until) {
      return fail("detach /dev/" + disk + ": another process holds it open: end it and try again");
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
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
