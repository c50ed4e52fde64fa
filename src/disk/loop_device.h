// The loop device on top of the daemon's file: attach, queue attributes, detach.
//
// Source:  loop(4), linux/loop.h; /sys/block/loopN/loop/backing_file says whose it is.
// Number:  a disk that is to be the same disk in the next session gets a number of its own, far
//          above those that losetup gives out: the device is added for it, with the queue settings
//          that a new one has, and removed with it. Where another has that number, or none can be
//          added, it is any free one.
// Errors:  Exit::unsupported where loop devices or direct I/O on them are refused.
// Threads: independent functions; another process may take a free device first: attach tries again.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "disk/registry.h"

namespace blksweep {

// The loop device whose backing file has that path: "loop0".
Result<std::optional<std::string>> loop_of(const std::string& file);

inline constexpr unsigned kFirstOwnLoop = 4096;  // from here on: added by us, removed by us
// The number for what is called so, the same each time.
unsigned own_loop_number(const std::string& name);

struct LoopWish {
  std::optional<unsigned> number = {};  // of its own; else any
  bool direct_needed = true;            // else it may go through the page cache below
};

struct AttachedLoop {
  std::string disk;    // "loop0"
  QueueValues before;  // what its queue had
};
Result<AttachedLoop> attach_loop(const std::string& file, const LoopWish& wish = {});
// Waits until the kernel let it go; somebody who holds it open is an error. From then on the number
// may be another's.
Result<> detach_loop(const std::string& disk, Nanos patience = std::chrono::seconds(10));
// Of one that we added and that has no file: it goes. Others stay.
void remove_own_loop(const std::string& disk);

Result<> set_queue_value(const std::string& disk, const std::string& name,
                         const std::string& value);

}  // namespace blksweep
