// Does a program wait in an open that does not come back, as one of a FIFO without a writer does?
//
// Use:     ask again and again; true once a thread of it has been in one open for `limit` without
// any
//          time on a processor. An open of a file on a slow disk ends, or runs in between.
// Errors:  a kernel or a user that cannot see it (/proc/PID/task/*/syscall): never true.
// Threads: one owner.
// Source:  proc(5), /proc/pid/syscall; Documentation/scheduler/sched-stats.rst.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/units.h"

namespace blksweep {

class StuckOpen {
 public:
  explicit StuckOpen(Nanos limit = std::chrono::seconds(5)) : limit_(limit) {}
  bool operator()(pid_t program);

 private:
  struct Seen {
    std::string state;  // the call with its arguments, and the time on a processor
    std::int64_t since_ns = 0;
  };
  bool stuck(const std::string& task, std::int64_t now);

  Nanos limit_;
  std::map<std::string, Seen> threads_;  // of those in an open, by their folder below /proc
};

}  // namespace blksweep
