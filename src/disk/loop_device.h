// The loop device on top of the daemon's file: attach, queue attributes, detach.
//
// Source:  loop(4), linux/loop.h; /sys/block/loopN/loop/backing_file says whose it is.
// Errors:  Exit::unsupported where loop devices or direct I/O on them are refused.
// Threads: independent functions; another process may take a free device first: attach tries again.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "disk/registry.h"

namespace blksweep {

// The loop device whose backing file has that path: "loop0".
std::optional<std::string> loop_of(const std::string& file);

struct AttachedLoop {
  std::string disk;    // "loop0"
  QueueValues before;  // what its queue had
};
Result<AttachedLoop> attach_loop(const std::string& file);
// Waits until the kernel let it go; somebody who holds it open is an error.
Result<> detach_loop(const std::string& disk);

Result<> set_queue_value(const std::string& disk, const std::string& name,
                         const std::string& value);

}  // namespace blksweep
