// What is judged together: the runs on one disk, controls apart.
//
// Threads: values and pure functions; everything refers to the SummaryInput.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "store/records.h"
#include "store/summary/pairs.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {

using CountedRuns = std::vector<const StoredRun*>;

struct RigCell {
  const StoredCell* cell = nullptr;
  std::string control;  // "" of the experiment's own
  CountedRuns runs;     // counted ones
  CountedRuns all;      // the incomplete too
};

struct RigDisk {
  std::string disk;
  const HostRecord* host = nullptr;
  std::vector<RigCell> cells;
  std::size_t baseline = 0;  // of cells: what controls are compared with, whatever a report's is

  const RigCell& base() const { return cells[baseline]; }
  // The only cell of that control with that order ("" any); nullptr: there is none.
  const RigCell* control(const std::string& name, const std::string& order = "") const;
  bool has_controls() const;
  // Known to seek: an emulated disk that rotates, or hardware that says so. A virtual disk says so
  // whatever it is, and a loop device what the disk below says.
  bool rotates() const;
  bool emulated() const;
};

// Whether a run of the cell finds pages in memory by intent.
bool keeps_pages(const CellRecord& cell);
// Whether nothing else is there that its reads, or who uses them, would wait for.
bool waits_for_the_disk(const CellRecord& cell);

std::vector<RigDisk> rig_disks(const SummaryInput& input);

// What others read of the disk, over what the run did; nothing where that is not known.
Maybe<double> share_of_others(const RunRecord& run);
// Of a value that some runs have.
template <class Get>
std::vector<double> values_of_runs(const CountedRuns& runs, Get get) {
  std::vector<double> values;
  for (const StoredRun* r : runs) {
    if (const Maybe<double> value = get(r->run)) {
      values.push_back(*value);
    }
  }
  return values;
}

// What was watched: in rig_watch.cpp, and round by round in rig_rounds.cpp.
void watch_disk(const RigDisk& disk, std::vector<RigRemark>& out);
void watch_rounds(const RigDisk& disk, std::vector<RigRemark>& out);

}  // namespace blksweep
