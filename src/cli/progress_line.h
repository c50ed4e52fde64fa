// ProgressLine: one rewritten line on stderr when that is a terminal, else a plain line now and
// then.
//
// Cost:    wakes five times a second and reads two atomics; the run's threads never wait for it.
// Threads: prints from a thread of its own, which ends with the object.
#pragma once

#include <thread>

#include "loader/progress.h"

namespace blksweep {

class ProgressLine {
 public:
  explicit ProgressLine(const Progress& progress);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace blksweep
