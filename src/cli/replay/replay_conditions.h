// Whether a replay had the conditions that it began with: what its disk stands on and answers as,
// the queue, the files, the CPUs and limits of this process. Changed, a figure is of neither.
//
// What is changed and changed back within one replay is seen where disk/disk_watch.h sees it.
// Errors:  as of reading the trace.
// Threads: one owner.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/result.h"
#include "disk/disk_watch.h"
#include "loader/source.h"
#include "replay/replay.h"
#include "store/records.h"

namespace blksweep {

class ReplayConditions {
 public:
  static Result<ReplayConditions> now(const std::string& trace, const ReplaySettings& settings,
                                      const std::atomic<bool>& stop);
  // What changed since then; empty: nothing. Nothing interrupts it: what was replayed is judged.
  Result<std::string> changed();

 private:
  std::string trace_;
  ReplaySettings settings_;
  Source source_;  // of the disk alone
  HostRecord host_;
  DiskWatch watch_;
  std::string files_;
};

}  // namespace blksweep
