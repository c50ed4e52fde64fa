// The experiments of a database that a report or a comparison is about, joined.
//
// Several experiments become one set of cells, in which the disk is the first setting; what is one
// disk is decided by its label (store/summary/labels.h). Two experiments that have the same cell on
// a disk of the same label, or are of other data, another node or program, are kept apart: their
// disks are called "... #1", "... #2" by experiment. One experiment alone is as it was stored.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/result_reader.h"
#include "store/summary/summary.h"

namespace blksweep {

struct ExperimentChoice {
  std::string db;                // for errors
  std::string which = "newest";  // "newest" (that has runs), "all", "3", "1,3"
};

struct JoinedExperiments {
  std::vector<StoredExperiment> experiments;  // oldest first
  std::vector<std::string> disks;             // of each; empty when there is one experiment
  std::size_t others = 0;                     // in the database, left out
  SummaryInput input;                         // without a baseline
};

// Errors: a database without experiments, or none of them with a run; usage for a number that is
// not there.
Result<JoinedExperiments> join_experiments(ResultReader& reader, const ExperimentChoice& choice);

}  // namespace blksweep
