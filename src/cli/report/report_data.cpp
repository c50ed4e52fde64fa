#include "cli/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "store/export/csv.h"

namespace blksweep {
namespace {

// "order=lba,merge=device"
Result<CellFilter> parse_filter(const std::string& text) {
  CellFilter filter;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return usage_error(
          fmt::format("'{}' is not a list of settings, such as order=lba,merge=device", text));
    }
    filter.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = end + 1;
  }
  return filter;
}

// "3%"
Result<Maybe<double>> parse_margin(const std::string& text) {
  BLKSWEEP_TRY(const double share, parse_percent(text));
  return Maybe<double>(share);
}

// The values that cells have of the settings that are asked for; where they have none of them, the
// settings' names.
std::string known_of(const std::vector<StoredCell>& cells, const CellFilter& filter) {
  std::set<std::string> values, names;
  for (const StoredCell& c : cells) {
    for (const auto& setting : c.cell.settings) {
      names.insert(setting.first);
      const bool asked = std::ranges::any_of(
          filter, [&](const auto& wanted) { return wanted.first == setting.first; });
      if (asked) {
        values.insert(fmt::format("{}={}", setting.first, setting.second));
      }
    }
  }
  return values.empty() ? fmt::format("settings are {}", joined(names, ", "))
                        : fmt::format("there are {}", joined(values, ", "));
}

Result<> require_match(const std::vector<StoredCell>& cells, const CellFilter& filter,
                       const char* option) {
  if (std::ranges::any_of(cells, [&](const StoredCell& c) { return matches(c.cell, filter); })) {
    return {};
  }
  return usage_error(fmt::format("{}: no cell matches; {}", option, known_of(cells, filter)));
}

std::size_t matching(const std::vector<CellRecord>& cells, const CellFilter& filter) {
  return static_cast<std::size_t>(
      std::ranges::count_if(cells, [&](const CellRecord& c) { return matches(c, filter); }));
}

// The settings by which the first of `cells` is told from the others, put into `named`.
CellFilter first_alone(const std::vector<CellRecord>& cells, CellFilter named) {
  std::size_t left = cells.size();
  for (const auto& setting : cells.front().settings) {
    CellFilter closer = named;
    std::erase_if(closer, [&](const auto& wanted) { return wanted.first == setting.first; });
    closer.push_back(setting);
    if (const std::size_t now = matching(cells, closer); now < left) {
      named = std::move(closer);
      left = now;
    }
  }
  return named;
}

// A baseline is one of each disk, and one that is shown where there is one.
Result<> require_baselines(const SummaryInput& all, const CellFilter& named) {
  std::map<std::string, std::vector<CellRecord>> shown, other;
  for (const StoredCell& c : without_controls(all).cells) {
    (matches(c.cell, all.shown) ? shown : other)[setting_of(c.cell, "disk")].push_back(c.cell);
  }
  std::erase_if(shown, [&](const auto& disk) { return matching(disk.second, named) == 0; });
  shown.merge(other);
  for (auto& [disk, cells] : shown) {
    BLKSWEEP_CHECK(require_one(std::move(cells), named));
  }
  return {};
}

}  // namespace

std::string filter_text(const CellFilter& filter) {
  std::string text;
  for (const auto& [name, value] : filter) {
    text += (text.empty() ? "" : ",") + name + "=" + value;
  }
  return text;
}

Result<> require_one(std::vector<CellRecord> cells, const CellFilter& named) {
  std::erase_if(cells, [&](const CellRecord& c) { return !matches(c, named); });
  if (named.empty() || cells.size() < 2) {
    return {};
  }
  constexpr std::size_t kShown = 5;
  std::vector<std::string> labels = cell_labels(cells);
  if (labels.size() > kShown) {
    labels.resize(kShown);
    labels.emplace_back("...");
  }
  return usage_error(fmt::format("--baseline: {} cells match ({}): name one, such as {}",
                                 cells.size(), joined(labels, "; "),
                                 shell_word(filter_text(first_alone(cells, named)))));
}

Result<Report> load_report(ResultReader& reader, const ReportChoice& options) {
  Report report;
  BLKSWEEP_TRY(report.joined, join_experiments(reader, {options.db, options.experiment}));
  SummaryInput& input = report.joined.input;
  input.baseline = options.baseline;
  input.shown = options.cells;
  input.margin = options.margin;
  BLKSWEEP_CHECK(require_match(input.cells, options.baseline, "--baseline"));
  BLKSWEEP_CHECK(require_match(input.cells, options.cells, "--cells"));
  BLKSWEEP_CHECK(require_baselines(input, options.baseline));
  report.cells = summarize(input);
  report.rig = judge_rig(input);
  // Left out after the summary: a baseline that is not shown still is the baseline, and is named.
  std::erase_if(report.cells,
                [&](const CellSummary& c) { return !matches(c.cell, options.cells); });
  return report;
}

Result<> write_tables(const Report& report, const ReportFolder& folder) {
  if (report.rig.judged) {
    BLKSWEEP_CHECK(folder.write("rig.txt", rig_text(report.rig)));
  }
  BLKSWEEP_CHECK(folder.write("cells.csv", cells_csv(report.cells)));
  return folder.write("runs.csv", runs_csv(report.cells, report.joined.input.runs));
}

void add_report_choice(Command app, ReportChoice& choice) {
  app.add_option("DB", choice.db, "results database that run wrote").required();
  add_parsed(app, "--cells", choice.cells, parse_filter,
             "only cells with these settings, as name=value,...");
  add_parsed(app, "--baseline", choice.baseline, parse_filter,
             "cell that ratios refer to (order=random,merge=none)");
  add_parsed(app, "--margin", choice.margin, parse_margin,
             "equivalence margin (3%): equal if shown to be within it");
  app.add_option("--experiment", choice.experiment,
                 "newest (default), all, or ids (1,3): one report, disks apart");
}

}  // namespace blksweep
