// What a report and a paper are made of: the cells that somebody chose, summarized; one source for
// the table, its CSV and everything that is drawn or typeset.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/report/experiments.h"
#include "cli/report/folder.h"
#include "store/summary/rig_verdict.h"
#include "store/summary/summary.h"

namespace blksweep {

struct ReportChoice {
  std::string db, experiment = "newest";
  CellFilter cells, baseline;
  Maybe<double> margin;
};

struct Report {
  JoinedExperiments joined;
  std::vector<CellSummary> cells;
  RigVerdict rig;
};

// DB, --cells, --baseline, --margin and --experiment.
void add_report_choice(Command app, ReportChoice& choice);
// Errors: as join_experiments; usage for a filter that no cell matches, and for a
// baseline that several cells of one disk match.
Result<Report> load_report(ResultReader& reader, const ReportChoice& choice);
// As it is given on a command line: "order=lba,merge=device".
std::string filter_text(const CellFilter& filter);
// Errors: usage where several of `cells` match the baseline `named`, with words that name one.
Result<> require_one(std::vector<CellRecord> cells, const CellFilter& named);
// cells.csv and runs.csv; with controls rig.txt.
Result<> write_tables(const Report& report, const ReportFolder& folder);

}  // namespace blksweep
