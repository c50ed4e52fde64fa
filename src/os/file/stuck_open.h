// Does a program wait for something that is no file, as a FIFO or a terminal put in a file's place?
//
// Use:     ask again and again; true once a thread of it has been in one system call for `limit`
//          without any time on a processor, and that call is an open, or the program has opened by
//          name what may never answer (a FIFO, a terminal). A slow disk is neither: its open ends.
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
  enum class Wait { none, some_call, open };
  Wait look(const std::string& task, std::int64_t now);

  Nanos limit_;
  std::int64_t looked_ns_ = 0;           // at what it has open
  std::map<std::string, Seen> threads_;  // by their folder below /proc
};

}  // namespace blksweep
