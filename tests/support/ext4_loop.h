// A small ext4 filesystem on a loop device, for tests that need a real one. Cleans up after itself.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "os/process/process.h"

namespace blksweep::support {

class Ext4Loop {
 public:
  // why() says what is missing when ready() is false.
  explicit Ext4Loop(const std::string& size = "256M") {
    if (::geteuid() != 0) {
      why_ = "needs root to set up a loop device";
      return;
    }
    std::string name = std::filesystem::temp_directory_path() / "blksweep-ext4-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      why_ = "cannot make " + name;
      return;
    }
    base_ = name;
    std::filesystem::create_directory(mount_point());
    ready_ = step({"truncate", "-s", size, base_ + "/image"}) &&
             step({"mkfs.ext4", "-q", "-F", "-N", "65536", base_ + "/image"}) &&
             step({"losetup", "-f", "--show", "--direct-io=on", base_ + "/image"});
    if (!ready_) {
      return;
    }
    device_ = output_.substr(0, output_.find('\n'));
    ready_ = mounted_ = step({"mount", device_, mount_point()});
  }
  Ext4Loop(const Ext4Loop&) = delete;
  Ext4Loop& operator=(const Ext4Loop&) = delete;
  ~Ext4Loop() {
    // A ring that has just been torn down may hold a file for a moment: detached lazily then.
    if (mounted_ && !step({"umount", mount_point()})) {
      step({"umount", "-l", mount_point()});
    }
    if (!device_.empty()) {
      step({"losetup", "-d", device_});
    }
    if (!base_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(base_, ignored);
    }
  }

  bool ready() const { return ready_; }
  const std::string& why() const { return why_; }
  const std::string& device() const { return device_; }
  std::string mount_point() const { return base_ + "/mnt"; }

  // Writes `size` bytes that depend on `seed`.
  std::string write(const std::string& name, std::uint64_t size, std::uint64_t seed) const {
    const std::string path = mount_point() + "/" + name;
    Rng rng(seed);
    std::string bytes(size, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(rng.next() & 0xFF);
    }
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  bool step(std::vector<std::string> argv) {
    ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.timeout = std::chrono::seconds(60);
    const Result<ProcessResult> r = run_process(spec);
    if (r && r->ok()) {
      output_ = r->out;
      return true;
    }
    why_ = spec.argv[0] + ": " + (r ? r->err : r.error().text);
    return false;
  }

  std::string base_, device_, why_, output_;
  bool ready_ = false, mounted_ = false;
};

}  // namespace blksweep::support
