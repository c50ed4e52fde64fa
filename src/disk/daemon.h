// The daemon of one emulated disk: `blksweep disk-daemon NAME`, started by `disk start`.
//
// It reads state.json of its disk, serves it and ends when its FUSE mount is gone. SIGTERM ends it
// only while nothing has the disk open: dying under a mounted filesystem would cost data; SIGINT
// and SIGHUP are ignored.
//
// Memory:  it is in the way of the kernel's writeback, so it must never wait for memory that
//          writeback would free: PR_SET_IO_FLUSHER, pages locked once touched, oom_score_adj -900.
// Errors:  go through the pipe `ready_fd` to `disk start`, and to the log.
#pragma once

#include <string>

#include "base/result.h"
#include "disk/registry.h"

namespace blksweep {

struct DaemonArguments {
  std::string name;
  int ready_fd = -1;  // "ready" when files can be opened, else an error; then closed
};
Result<> run_disk_daemon(const Registry& registry, const DaemonArguments& arguments);

// Starts it in a session of its own and waits until it is ready. An error has its exit code.
Result<> start_disk_daemon(const Registry& registry, const std::string& name);

}  // namespace blksweep
