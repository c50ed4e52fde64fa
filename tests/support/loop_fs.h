// A filesystem in an image file on a loop device, for one test; unmounted, detached and deleted at
// its end. make() says why when it cannot be had here (not root, no mkfs, no loop device).
#pragma once

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/result.h"
#include "support/temp_dir.h"

namespace blksweep {

struct LoopFsSettings {
  std::string mkfs;           // "mkfs.ext4 -q -O inline_data"
  std::string mount_options;  // "compress-force=zlib"
  std::uint64_t mib = 300;
  bool partition = false;  // the filesystem is in the first partition, at 1 MiB
};

class LoopFs {
 public:
  LoopFs() = default;
  LoopFs(const LoopFs&) = delete;
  LoopFs& operator=(const LoopFs&) = delete;
  ~LoopFs() {
    if (!disk_.empty()) {
      run("umount " + path() + " 2>&1");
      run("losetup --detach " + disk_ + " 2>&1");
    }
  }

  Result<> make(const LoopFsSettings& s) {
    if (::geteuid() != 0) {
      return fail("needs root for a loop device");
    }
    const std::string image = dir_.path("image");
    std::ofstream(image).close();
    std::filesystem::resize_file(image, s.mib << 20);
    BLKSWEEP_TRY(disk_, answer("losetup --find --show --partscan " + image));
    node_ = s.partition ? disk_ + "p1" : disk_;
    if (s.partition) {  // told to the kernel directly: it need not know any partition table
      BLKSWEEP_CHECK(answer("addpart " + disk_ + " 1 2048 " + std::to_string((s.mib - 1) * 2048)));
    }
    BLKSWEEP_CHECK(answer(s.mkfs + " " + node_));
    std::filesystem::create_directory(path());
    const std::string options = s.mount_options.empty() ? "" : "-o " + s.mount_options + " ";
    BLKSWEEP_CHECK(answer("mount " + options + node_ + " " + path()));
    return {};
  }

  std::string path(const std::string& below = {}) const {
    return dir_.path("mnt") + (below.empty() ? "" : "/" + below);
  }
  const std::string& disk() const { return disk_; }  // /dev/loop0
  const std::string& node() const { return node_; }  // /dev/loop0p1

 private:
  struct Said {
    int status;
    std::string text;
  };
  static Said run(const std::string& command) {
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 512> line{};
    while (pipe != nullptr && ::fgets(line.data(), line.size(), pipe) != nullptr) {
      text += line.data();
    }
    const int status = pipe != nullptr ? ::pclose(pipe) : -1;
    return {status, text.substr(0, text.find_last_not_of('\n') + 1)};
  }
  // What it printed, or an Error with that when it failed.
  static Result<std::string> answer(const std::string& command) {
    const Said said = run(command + " 2>&1");
    if (said.status != 0) {
      return fail(command + ": " + said.text);
    }
    return said.text;
  }
  TempDir dir_;
  std::string disk_, node_;
};

}  // namespace blksweep
