// A spec that says its disks and data sets: an experiment for each of its sites, then a report.
//
// Order:   everything that can be known is checked first; then site by site what is missing is
//          made, set up, measured; what was set up is taken down, however it ends; the report is
//          the answer.
// Errors:  one line; what is measured is kept.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/options.h"
#include "rig/settings.h"

namespace blksweep {

struct PlannedSite {
  Site site;           // of CampaignPlan::rig; no data set: options.data or its catalog
  RunOptions options;  // with the folder where the data will be
};

struct CampaignPlan {
  std::shared_ptr<const RigSettings> rig;  // nullptr: nothing is to be set up
  std::vector<PlannedSite> sites;
  std::string db, report;
  bool json = false;
};
Result<CampaignPlan> plan_campaign(const Spec& spec, const CellText& command_line);
// Of an experiment whose data are there.
CampaignPlan plan_of(const RunOptions& options);
// The same that is to end in a report. Errors: usage, without a database.
Result<CampaignPlan> plan_of_report(const RunOptions& options);

struct MeasuredSite {
  Exit exit = Exit::done;
  std::string key;  // of the experiment in the database
};
Result<Exit> carry_out(const CampaignPlan& plan,
                       const std::function<Result<MeasuredSite>(const RunOptions&)>& measure);

}  // namespace blksweep
