// A filesystem in an image file of ours behind a loop device: a disk of this node's own speed.
//
// Device:  a loop device with direct I/O where the filesystem below can do it, with a number of its
//          own (loop_device.h): in the next session the disk has the same name and queue.
// Taking down: unmounts and detaches; the file stays. What is there is asked of the kernel, so what
//          a killed start left behind goes too.
// Errors:  Exit::unsupported without root or loop devices; a file that holds another filesystem.
// Threads: one caller for each file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

inline constexpr const char* kImageEnding = ".blksweep-image";

struct ImageWish {
  std::string file;               // absolute, ends in kImageEnding, is there; empty ones get mkfs
  std::string filesystem, mount;  // a folder
  unsigned loop = 0;              // LoopWish::number
};
Result<> check_image_rights();
// The device, "/dev/loop4711".
Result<std::string> start_image(const ImageWish& wish);

struct ImageEnd {
  bool was_up = false;
  std::vector<std::string> warnings;
};
Result<ImageEnd> stop_image(const std::string& file);

}  // namespace blksweep
