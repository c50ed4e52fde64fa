// Two experiments beside each other: of two sessions, two nodes, two builds (docs/compare.md).
//
// Facts:   everything that is stored of node, stack, build, data and command, and for each setting
//          the values that the cells of either side have.
// Cells:   in both sides where all settings are equal but those that have one value on either side
//          and another one on the other: these are conditions of the whole side, and facts.
// Ratios:  stats/unpaired.h: of the speed itself, and of the ratio to the baseline in the same
//          round, which what either session was like as a whole does not reach.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/report_data.h"
#include "stats/unpaired.h"
#include "store/export/json.h"

namespace blksweep {

struct ComparedFact {
  std::string name, a, b;  // empty: there is none
  bool differs() const { return a != b; }
};

struct ComparedCell {
  std::string label;
  CellRecord a, b;
  std::size_t runs_a = 0, runs_b = 0;          // counted
  std::size_t left_out_a = 0, left_out_b = 0;  // incomplete
  std::size_t in_both = 0;                     // the same runs: of a copy that went on
  Maybe<double> median_a, median_b;            // samples per second
  Maybe<UnpairedRatio> ratio;                  // b over a; none: no run on one side
  Maybe<UnpairedRatio> relative;               // the same of the ratio to the baseline
  bool baseline = false;
};

struct Comparison {
  std::string name_a, name_b;
  std::vector<ComparedFact> facts;
  std::vector<ComparedCell> cells;
  std::vector<std::string> only_a, only_b;  // labels
  double error_rate = kErrorRate;           // kStoppedErrorRate: a side was stopped by its widths
};

struct ComparedSide {
  std::string name;  // for people: the database, with the experiment where it has several
  StoredExperiment experiment;
  Maybe<CommandRecord> command;  // of its last session
  SummaryInput input;
};

// Errors: as join_experiments; usage for a choice of more than one experiment.
Result<ComparedSide> load_side(const ExperimentChoice& choice);
// `baseline` as of a report. Errors: usage where no cell of both sides matches it, or several.
Result<Comparison> compare(const ComparedSide& a, const ComparedSide& b,
                           const CellFilter& baseline);

Json comparison_json(const Comparison& c);
std::string comparison_text(const Comparison& c);

}  // namespace blksweep
