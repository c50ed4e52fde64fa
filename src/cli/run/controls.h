// `--controls`: the cells that show whether the rig can be trusted, beside those of the experiment
// (docs/controls.md), and the copy in memory that two of them read.
//
// Baseline: the first cell of ours with random order and merge none, else the first of ours; the
//           controls differ from it in one thing each.
// Not here: what this node cannot do is left out, with a line that says why.
// Threads:  one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "rig/ram_copy.h"

namespace blksweep {

// Behind the others, those that are there already being replaced. Without a cell of ours: none.
void add_controls(std::vector<CellSettings>& cells);

class ControlRig {
 public:
  // Of cells that can run here: without those controls that cannot.
  static ControlRig set_up(const Source& source, std::vector<CellSettings>& cells,
                           std::uint64_t seed);
  void take_part(ExperimentSettings& settings, const Source& source) const;
  Result<> down();

 private:
  void leave_out(std::vector<CellSettings>& cells, Control control, const std::string& why);

  std::optional<RamCopy> copy_;
  std::optional<Source> ram_;
};

}  // namespace blksweep
