#include "cli/run/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "cli/report/report.h"
#include "cli/run/peers.h"
#include "cli/status_line.h"
#include "cli/version.h"
#include "rig/rig.h"
#include "store/result_reader.h"

namespace blksweep {
namespace {

// What another one's spec may not say to root: where is written, which devices are mounted.
Result<> refuse_strangers_disks(const Spec& spec) {
  for (const DiskSetup& d : spec.rig->disks) {
    if (spec.of_stranger && std::holds_alternative<DeviceDisk>(d.what)) {
      return usage_error(fmt::format(
          "disk {}: device: in a file of another user: root mounts none for it", d.name));
    }
  }
  return {};
}

Result<> refuse_given_data(const Spec& spec, const CellText& command_line) {
  for (const std::string name : {"data", "catalog", "disk-label"}) {
    if (spec.top.contains(name) || command_line.contains(name)) {
      return usage_error(
          fmt::format("--{}: the spec has [[disk]] or [[data]], which say that", name));
    }
  }
  return {};
}

std::string option_of(const Spec& spec, const CellText& command_line, const std::string& name) {
  for (const CellText* text : {&command_line, &spec.top}) {
    const auto found = text->find(name);
    if (found != text->end() && !found->second.empty()) {
      return found->second.front();
    }
  }
  return "";
}

// Without a working folder only folders that are there can be read.
bool makes_something(const RigSettings& rig) {
  return !rig.disks.empty() || std::ranges::any_of(rig.data, [](const DataSetup& d) {
    return !std::holds_alternative<FolderData>(d.what);
  });
}

CellText names_of(const Site& site) {
  CellText names{{"data", {site.data->name}}};
  if (site.disk != nullptr) {
    names["disk"] = {site.disk->name};
  }
  return names;
}

// All of its cells may be excluded.
Result<bool> has_cells(const Spec& spec, const CellText& command_line, const Site& site) {
  BLKSWEEP_TRY(const std::vector<CellText> cells,
               combinations(spec.matrix, names_of(site), command_line));
  return spec.matrix.axes.empty() || !cells.empty() || !spec.cells.empty();
}

template <class T>
Result<> check_excluded(const CellText& wanted, const std::string& what,
                        const std::vector<T>& there) {
  const auto found = wanted.find(what);
  const auto names = found != wanted.end() ? found->second : std::vector<std::string>();
  for (const std::string& name : names) {
    if (std::ranges::find(there, name, &T::name) == there.end()) {
      return usage_error(fmt::format("[matrix] exclude: there is no {} '{}'", what, name));
    }
  }
  return {};
}

Result<RunOptions> site_options(const Spec& spec, const CellText& command_line, const Site& site,
                                const WorkPaths& paths) {
  Spec own = spec;
  own.top["data"] = {paths.data_folder(site)};
  own.top["disk-label"] = {site.label()};
  BLKSWEEP_CHECK(add_matrix_cells(own, names_of(site), command_line));
  BLKSWEEP_TRY(RunOptions options, parse_run_options(own, command_line));
  BLKSWEEP_CHECK(find_peers(options.cells));
  return options;
}

// Of the newest experiment with each key.
Result<std::string> ids_of(const std::string& db, const std::vector<std::string>& keys) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(db));
  BLKSWEEP_TRY(const std::vector<StoredExperiment> all, reader.experiments());
  std::set<std::int64_t> ids;
  for (const std::string& key : keys) {
    const auto newest = std::find_if(all.rbegin(), all.rend(), [&](const StoredExperiment& e) {
      return e.key == key && e.runs > 0;
    });
    if (newest != all.rend()) {
      ids.insert(newest->id);
    }
  }
  return joined(ids, ",");
}

struct SitesMeasured {
  Exit exit = Exit::done;
  std::vector<std::string> keys;
};

Result<SitesMeasured> measure_sites(
    const CampaignPlan& plan, Rig* rig,
    const std::function<Result<MeasuredSite>(const RunOptions&)>& measure) {
  SitesMeasured all;
  for (const PlannedSite& planned : plan.sites) {
    if (rig != nullptr) {
      BLKSWEEP_TRY([[maybe_unused]] const std::string folder, rig->ready(planned.site));
    }
    if (planned.site.data != nullptr) {
      note(fmt::format("{}: {} cells, {}{} repeats", planned.site.label(),
                       planned.options.cells.size(), planned.options.precision ? "at most " : "",
                       planned.options.most_repeats()));
    }
    BLKSWEEP_TRY(MeasuredSite site, measure(planned.options));
    all.keys.push_back(std::move(site.key));
    all.exit = site.exit == Exit::done ? all.exit : site.exit;
    if (site.exit == Exit::interrupted) {
      break;
    }
  }
  return all;
}

}  // namespace

Result<CampaignPlan> plan_campaign(const Spec& spec, const CellText& command_line) {
  BLKSWEEP_CHECK(refuse_strangers_disks(spec));
  BLKSWEEP_CHECK(refuse_given_data(spec, command_line));
  CampaignPlan plan;
  auto rig = std::make_shared<RigSettings>(*spec.rig);
  rig->workdir = option_of(spec, command_line, "workdir");
  if (rig->workdir.empty() && makes_something(*rig)) {
    return usage_error(
        "say where images and data sets are kept: workdir = \"...\" at the top of the spec, or "
        "--workdir DIR");
  }
  WorkPaths paths;
  if (makes_something(*rig)) {
    BLKSWEEP_TRY(paths, WorkPaths::of(rig->workdir));
  }
  for (const CellText& wanted : spec.matrix.exclude) {
    BLKSWEEP_CHECK(check_excluded(wanted, "disk", rig->disks));
    BLKSWEEP_CHECK(check_excluded(wanted, "data", rig->data));
  }
  for (const Site& site : sites(*rig)) {
    BLKSWEEP_TRY(const bool measured, has_cells(spec, command_line, site));
    if (!measured) {
      continue;
    }
    BLKSWEEP_TRY(RunOptions options, site_options(spec, command_line, site, paths));
    plan.db = options.db;
    plan.report = options.report;
    plan.json = options.json;
    plan.sites.push_back({site, std::move(options)});
  }
  if (plan.sites.empty()) {
    return usage_error("[matrix]: exclude leaves no cell");
  }
  if (plan.db.empty()) {
    return usage_error(
        "a spec with [[disk]] or [[data]] keeps its results: db = \"results.db\", or --db FILE");
  }
  plan.rig = std::move(rig);
  return plan;
}

CampaignPlan plan_of(const RunOptions& options) {
  CampaignPlan plan{.rig = nullptr, .sites = {}, .db = options.db, .report = options.report};
  plan.json = options.json;
  plan.sites.push_back({{}, options});
  return plan;
}

Result<CampaignPlan> plan_of_report(const RunOptions& options) {
  if (options.db.empty()) {
    return usage_error("--report: of what a database holds: name one with --db FILE");
  }
  return plan_of(options);
}

Result<Exit> carry_out(const CampaignPlan& plan,
                       const std::function<Result<MeasuredSite>(const RunOptions&)>& measure) {
  StatusLine line(std::chrono::milliseconds(100), std::chrono::seconds(5));
  BuildListener listener;
  listener.tool = std::string(version()) + " " + git_revision();
  listener.progress = [&line](const std::string& text) {
    if (line.due()) {
      line.show(text);
    }
  };
  std::optional<Rig> rig;
  if (plan.rig != nullptr && makes_something(*plan.rig)) {
    BLKSWEEP_TRY(Rig opened, Rig::open(*plan.rig, listener));
    rig.emplace(std::move(opened));
  }
  const Result<SitesMeasured> measured = measure_sites(plan, rig ? &*rig : nullptr, measure);
  line.clear();
  if (rig) {
    const Result<> down = rig->down();
    if (measured && !down) {
      return tl::unexpected(down.error());
    }
  }
  BLKSWEEP_CHECK(measured);
  BLKSWEEP_TRY(const std::string experiments, ids_of(plan.db, measured->keys));
  if (experiments.empty()) {
    return measured->exit;
  }
  const std::string out = measured->exit == Exit::interrupted ? "" : plan.report;
  BLKSWEEP_TRY(const Exit reported, make_report({plan.db, out, experiments, plan.json}));
  return measured->exit == Exit::done ? reported : measured->exit;
}

}  // namespace blksweep
