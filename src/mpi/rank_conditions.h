// RankConditions: whether a rank read under the conditions that it began with; else the times of
// all are of no one condition. One rank of each node looks at the disk, each at its own CPUs and
// cgroup.
//
// Errors:  none; what cannot be read is not compared.
// Threads: one owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "disk/disk_watch.h"
#include "loader/source.h"
#include "os/block/blockdev.h"
#include "ranks/row.h"
#include "store/records.h"

namespace blksweep {

class RankConditions {
 public:
  // As they are now. `of_disk`: those of the disk, too.
  RankConditions(const Source& source, bool of_disk);

  void begin();  // to count what the disk does
  // What changed since they were taken; empty: nothing.
  std::string changed();
  // What the disk did since begin(), for shared_disk(); empty: not known, or it is another's to
  // say.
  std::string disk_use() const;

 private:
  std::optional<DiskStat> stat() const;

  const Source& source_;
  const bool of_disk_;
  std::optional<DiskStat> before_;
  HostRecord host_;
  std::string allowed_;  // CPUs of this thread
  std::optional<DiskWatch> watch_;
};

// A line where others than the ranks of its node used the disk notably: `uses` are those of all
// ranks; empty lines where nobody did, or it is not known.
std::vector<std::string> shared_disks(const std::vector<std::string>& uses,
                                      const std::vector<RankRow>& rows);

}  // namespace blksweep
