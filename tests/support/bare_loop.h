// A loop device without a filesystem, for one test; detached at its end, its queue as it was.
#pragma once

#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "support/queue_guard.h"

namespace blksweep {

// A loop device in direct-io mode on a temporary file; gone with the object.
class LoopDevice {
 public:
  static constexpr std::uint64_t kBytes = 64ull << 20;

  static Result<LoopDevice> make() {
    LoopDevice d;
    std::string name = "/tmp/blksweep-probe-XXXXXX";
    d.image_ = Fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!d.image_) {
      return sys_error(errno, "create " + name);
    }
    ::unlink(name.c_str());
    if (::fallocate(d.image_.get(), 0, 0, kBytes) != 0) {
      return sys_error(errno, "fallocate " + name);
    }
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (number < 0) {
      return sys_error(errno, "get a free loop device");
    }
    d.name_ = "loop" + std::to_string(number);
    d.guard_.emplace(d.name_);
    d.fd_ = Fd(::open(("/dev/" + d.name_).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
    loop_config config{};
    config.fd = static_cast<__u32>(d.image_.get());
    config.block_size = 512;
    config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
    if (!d.fd_ || ::ioctl(d.fd_.get(), LOOP_CONFIGURE, &config) != 0) {
      return sys_error(errno, "set up " + d.name_);
    }
    return d;
  }

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  dev_t number() const {
    struct stat st {};
    ::fstat(fd_.get(), &st);
    return st.st_rdev;
  }
  bool set_scheduler(const std::string& scheduler) const { return set("scheduler", scheduler); }
  bool set(const std::string& setting, const std::string& value) const {
    std::ofstream out("/sys/block/" + name_ + "/queue/" + setting);
    out << value << std::flush;
    return static_cast<bool>(out);
  }

 private:
  Fd image_;
  Fd fd_;
  std::string name_;
  std::optional<QueueGuard> guard_;  // put back while the device is still ours
};

}  // namespace blksweep
