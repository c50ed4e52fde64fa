// CpuAwake: while it lives, no CPU of the node enters an idle state that it takes time to leave.
//
// Why:     waking an idle CPU (a halted one of a virtual machine above all) costs tens of us, which
//          whoever wakes it pays, too. Response times get shorter by as much: it is a setting.
// Effect:  the kernel takes it back when the process ends, however it ends. None where the idle
//          loop has no states to choose from (no cpuidle driver).
// Errors:  Exit::unsupported where it is not permitted or the kernel has no such file.
// Threads: any.
// Source:  Documentation/admin-guide/pm/cpuidle.rst, "Power Management Quality of Service".
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

class CpuAwake {
 public:
  static Result<CpuAwake> hold(const std::string& file = "/dev/cpu_dma_latency");

 private:
  explicit CpuAwake(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace blksweep
