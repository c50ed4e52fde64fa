// --emission of plan and run: the files, and what is said about them (docs/emission.md).
//
// Errors:  before anything is measured: a name for several files that has no field, a place where
//          none can be made. Afterwards the first file that could not be written; the rest are.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/options.h"
#include "experiment/emission_file.h"
#include "experiment/experiment.h"
#include "os/file/kept_files.h"

namespace blksweep {

class EmissionFiles {
 public:
  // `pattern` empty: none are wanted.
  static Result<EmissionFiles> begin(const std::string& pattern, const EmissionCount& count,
                                     const KeptFiles& inputs);
  void add_planned(std::uint64_t cell, const Catalog& catalog, const PlannedEpoch& planned);
  // `first`: the experiment's first cell.
  void add_run(const RunEvent& event, const ExperimentCell* first, const Catalog& catalog);
  const Result<>& written() const { return written_; }

 private:
  explicit EmissionFiles(const std::string& pattern) : pattern_(pattern) {}
  bool write(const std::string& path, const EmittedOrder& order);

  std::string pattern_;
  Result<> written_;
};

}  // namespace blksweep
