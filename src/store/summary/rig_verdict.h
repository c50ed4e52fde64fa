// Whether the rig that a set of runs was made on can be trusted: what its controls, and what was
// watched beside the runs, say of it (docs/controls.md). One ordered list: its first line is the
// first line of the table, of the report's page and of the JSON.
//
// Judged:  experiments with --controls; of others nothing is said.
// Weight:  broken: what was measured is not what was meant. failed: a control shows what cannot be.
//          noise: rounds or runs that something took time from. limit: what the tool itself can do.
// Error:   of a rig without fault a control fails in less than 2 % of sessions; the study and the
//          soak that say so are in docs/controls.md.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/summary/summary.h"

namespace blksweep {

enum class RigWeight { broken, failed, noise, limit };
std::string_view to_string(RigWeight weight);

struct RigRemark {
  RigWeight weight;
  std::string
      about;  // "cache", "addresses", "disk", "others", "cpu", "rounds", a control's name ...
  std::string text;  // one line, with its figures
};

struct ControlFigure {
  std::string name, disk;    // "a/a"; of several disks: which
  std::size_t runs = 0;      // counted; of a ratio its pairs
  Maybe<PairedRatio> ratio;  // to the baseline; ram: of LBA order to random order there
  Maybe<double> samples_per_s;
};

struct RigVerdict {
  bool judged = false;
  std::vector<RigRemark> remarks;  // the weightiest first
  std::vector<ControlFigure> controls;
  std::size_t rounds = 0;  // fewest of any control's
};

RigVerdict judge_rig(const SummaryInput& input);

// "controls passed: ...", or the first remark; without a newline; "" when nothing was judged.
std::string rig_line(const RigVerdict& verdict);
// The further remarks, a line each.
std::string rig_notes(const RigVerdict& verdict);
// {"line", "findings": [{"weight", "about", "text"}], "controls": [...], "rounds"}; null when
// nothing was judged.
Json rig_json(const RigVerdict& verdict);
// The same as text for figures: a line, then a remark a line.
std::string rig_text(const RigVerdict& verdict);

// Whether the cell is a control, and which; "" of cells of the experiment.
std::string control_of(const CellRecord& cell);
bool has_controls(const SummaryInput& input);
// Without the controls and their runs: what is compared.
SummaryInput without_controls(const SummaryInput& input);

}  // namespace blksweep
