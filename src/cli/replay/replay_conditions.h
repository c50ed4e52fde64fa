// Whether a replay had the conditions that it began with: what its disk stands on and answers as,
// the queue, the files, the CPUs and limits of this process. Changed, a figure is of neither.
//
// What is changed and changed back within one replay is seen where disk/disk_watch.h sees it.
// Threads: one owner.
#pragma once

#include <string>
#include <vector>

#include "disk/disk_watch.h"
#include "loader/source.h"
#include "replay/replay.h"
#include "store/records.h"

namespace blksweep {

class ReplayConditions {
 public:
  // `names`: of the files that the trace names.
  static ReplayConditions now(const std::vector<std::string>& names,
                              const ReplaySettings& settings);
  // What changed since then; empty: nothing.
  std::string changed();

 private:
  std::vector<std::string> names_;
  ReplaySettings settings_;
  Source source_;  // of the disk alone
  HostRecord host_;
  DiskWatch watch_;
  std::string files_;
};

}  // namespace blksweep
