// blksweep report: tables, CSV, figures and one HTML page from a results database.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/report/compare.h"
#include "cli/report/experiments.h"
#include "cli/report/figures.h"
#include "cli/report/folder.h"
#include "cli/report/others.h"
#include "cli/report/report.h"
#include "cli/report/report_data.h"
#include "cli/verb.h"
#include "os/file/file.h"
#include "os/process/signals.h"
#include "store/export/json.h"
#include "store/summary/ceilings.h"
#include "store/summary/stopping.h"
#include "store/summary/summary.h"
#include "store/summary/verdicts.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportExamples = R"(examples:
  blksweep report results.db
  blksweep report results.db -o report --baseline order=random,merge=none
  blksweep report monday.db friday.db -o compared)";

struct ReportOptions : ReportChoice {
  std::string out, other_experiment = "newest";
  std::vector<std::string> others;  // to compare with
  FigureLook look;
  bool json = false;
  bool figures = true;
  bool explain = false;
};

Json level_json(const Maybe<Level>& l) {
  return l ? Json{{"median", l->median}, {"least", l->least}, {"greatest", l->greatest}}
           : Json(nullptr);
}

Json interval_json(const Maybe<Interval>& i) {
  return i ? Json{{"low", i->low}, {"high", i->high}} : Json(nullptr);
}

Json estimate_json(const Maybe<PairedRatio>& r) {
  if (!r) {
    return nullptr;
  }
  return {{"value", r->value},
          {"low", r->interval ? Json(r->interval->low) : Json(nullptr)},
          {"high", r->interval ? Json(r->interval->high) : Json(nullptr)},
          {"pairs", r->pairs},
          {"p", or_null(r->p)},
          {"signed_rank", interval_json(r->ranked)}};
}

Json verdict_json(const PairedVerdict& v) {
  const std::string_view word = finding_word(v.finding);
  return word.empty()
             ? Json(nullptr)
             : Json{{"word", word}, {"detectable", or_null(v.detectable)}, {"equal", v.equal}};
}

Json summary_json(const CellSummary& c) {
  return {{"label", c.label},
          {"cell", cell_json(c.cell)},
          {"baseline", c.baseline},
          {"runs", c.runs},
          {"incomplete", c.incomplete},
          {"samples_per_s", level_json(c.samples_per_s)},
          {"bytes_per_s", level_json(c.bytes_per_s)},
          {"ratio", estimate_json(c.ratio)},
          {"ratio_to", c.ratio_to.empty() ? Json(nullptr) : Json(c.ratio_to)},
          {"split", c.split},
          {"verdict", verdict_json(c.verdict)},
          {"fio_ratio", estimate_json(c.twins.ratio)},
          {"fio_verdict", verdict_json(c.twins.verdict)},
          {"fio_plain_ratio", estimate_json(c.twins.plain_ratio)},
          {"ceiling_share", or_null(c.ceiling_share)},
          {"prediction_epoch_ns", or_null(c.prediction_epoch_ns)},
          {"prediction_error", or_null(c.prediction_error)},
          {"first_batch_ns", or_null(c.first_batch_ns)},
          {"depth_mean", or_null(c.depth_mean)},
          {"requests_issued", or_null(c.requests_issued)},
          {"read_amplification", or_null(c.read_amplification)},
          {"utilisation", or_null(c.utilisation)},
          {"decode_wait", or_null(c.decode_wait)},
          {"exposed_copy", or_null(c.exposed_copy)},
          {"ideal_share", or_null(c.ideal_share)},
          {"hidden_transfer", level_json(c.hidden_transfer)},
          {"exposed_transfer", level_json(c.exposed_transfer)},
          {"transfer_bytes_per_s", level_json(c.transfer_rate)},
          {"fed_gap_ns", level_json(c.fed_gap_ns)},
          {"copy_cpu_ns_per_part", or_null(c.copy_cpu_ns_per_part)},
          {"stalled_lane", or_null(c.stalled_lane)},
          {"stalled", or_null(c.stalled)},
          {"stalls", Json(c.stalls)}};
}

Json experiment_json(const StoredExperiment& e) {
  Json out{{"experiment", e.id}, {"disk", disk_label(e.host)}, {"host", host_json(e.host)}};
  out["commands"] = e.commands;
  out["stopping"] = stopping_json(e.stopping);
  out["ceilings"] = Json::array();
  for (const CeilingRecord& c : e.ceilings) {
    out["ceilings"].push_back(ceiling_json(c));
  }
  out["ceiling"] = ceiling_figures_json(e.ceilings);
  return out;
}

Json report_json(const Report& report) {
  Json out;
  if (report.rig.judged) {
    out["rig"] = rig_json(report.rig);
  }
  const std::vector<StoredExperiment>& all = report.joined.experiments;
  out["experiments"] = Json::array();
  for (const StoredExperiment& e : all) {
    out["experiments"].push_back(experiment_json(e));
  }
  const Json only = out["experiments"].front();  // keys move when others are added
  out["experiment"] = all.size() == 1 ? only["experiment"] : Json(nullptr);
  out["host"] = all.size() == 1 ? only["host"] : Json(nullptr);
  out["ceilings"] = all.size() == 1 ? only["ceilings"] : Json(nullptr);
  out["ceiling"] = all.size() == 1 ? only["ceiling"] : Json(nullptr);
  out["cells"] = Json::array();
  out["runs"] = Json::array();
  for (const CellSummary& c : report.cells) {
    out["cells"].push_back(summary_json(c));
  }
  for (const StoredRun& r : report.joined.input.runs) {
    const auto cell = std::ranges::find(report.cells, r.cell_id, &CellSummary::cell_id);
    if (cell != report.cells.end()) {
      out["runs"].push_back(run_json(cell->cell, r.run));
    }
  }
  add_peers(out["runs"]);
  return out;
}

void print(const Report& report, const Others& others, const ReportOptions& options) {
  if (options.json) {
    Json document = report_json(report);
    document["replays"] = replays_json(others.replays);
    document["traces"] = traces_json(others.traces);
    document["ranks"] = ranks_json(others.ranks);
    say_json(document);
    return;
  }
  if (report.joined.others > 0 && options.experiment == "newest") {
    note(fmt::format("{} also has {} other experiment{} (--experiment N)", options.db,
                     report.joined.others, report.joined.others == 1 ? "" : "s"));
  }
  const SummaryInput& input = report.joined.input;
  say_text((report.rig.judged ? rig_line(report.rig) + "\n" : "") + summary_text(report.cells) +
           rig_notes(report.rig) + stopping_text(input.stopping) + ceilings_text(input.ceilings) +
           others_text(others));
  if (options.explain) {
    say_text("\n" + columns_text(report.cells));
  }
}

// Without Python's libraries the tables are there, and the status says that something is missing.
struct Page {
  std::string script, name;
  std::vector<std::string> arguments;
};
Result<Exit> draw(const ReportOptions& options, const ReportFolder& folder, const Page& page) {
  const auto tools = find_figure_tools(page.script);
  if (!tools) {
    warn(tools.error().message());
    BLKSWEEP_CHECK(folder.publish());
    return tools.error().exit_code;
  }
  const Result<> drawn = run_figures(*tools, {.db = options.db,
                                              .copy = folder.database(),
                                              .output = folder.working(),
                                              .options = page.arguments});
  if (drawn || drawn.error().exit_code != Exit::interrupted) {
    BLKSWEEP_CHECK(folder.publish());  // the tables are there, whatever became of the figures
  }
  BLKSWEEP_CHECK(drawn);
  note(fmt::format("report: {}", (fs::path(options.out) / page.name).string()));
  return Exit::done;
}

Page report_page(const ReportOptions& options, bool no_runs = false) {
  return {"report.py", "report.html", options.look.arguments(no_runs)};
}

// A report is replaced by a newer one; somebody's file of such a name is not.
Result<> check_own_names(const std::string& out) {
  for (const auto& [name, mark] :
       {std::pair("report.html", "<title>blksweep"), std::pair("compare.html", "<title>blksweep"),
        std::pair("cells.csv", "cell_id,label,"), std::pair("runs.csv", "run_id,cell_id,")}) {
    const std::string path = (fs::path(out) / name).string();
    std::error_code none;
    const bool is_file = fs::symlink_status(path, none).type() == fs::file_type::regular;
    if (is_file && whole_text(path).find(mark) == std::string::npos) {
      return fail(path + " is of no report of blksweep: name another folder with -o");
    }
  }
  return {};
}

// Before anything is printed: a folder that cannot be used is an error alone.
Result<std::optional<ReportFolder>> begin_folder(const std::string& out) {
  if (out.empty()) {
    return std::optional<ReportFolder>();
  }
  BLKSWEEP_CHECK(check_own_names(out));
  install_stop_signals();  // the folder it works in goes with it
  BLKSWEEP_TRY(ReportFolder folder, ReportFolder::begin(out));
  return std::optional(std::move(folder));
}

// All of one moment of the database. Who writes to it does not wait for what is printed and drawn.
struct WholeReport {
  Others others;
  std::optional<Report> report;
  std::optional<ReportFolder> folder;
};
Result<WholeReport> load_whole(const ReportOptions& options) {
  WholeReport loaded;
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open_moment(options.db));
  BLKSWEEP_TRY(loaded.others, load_others(reader));
  if (!loaded.others.alone()) {
    BLKSWEEP_TRY(loaded.report, load_report(reader, options));
  }
  BLKSWEEP_TRY(loaded.folder, begin_folder(options.out));
  if (loaded.folder && options.figures) {
    BLKSWEEP_CHECK(loaded.folder->freeze(std::move(reader)));
  }
  return loaded;
}

Result<Exit> report_others(const WholeReport& loaded, const ReportOptions& options) {
  const Others& others = loaded.others;
  Json document{{"maps", maps_json(others.maps)},
                {"replays", replays_json(others.replays)},
                {"traces", traces_json(others.traces)},
                {"ranks", ranks_json(others.ranks)}};
  say_text(options.json ? json_text(document) + "\n" : others_text(others));
  flush_answer();
  return loaded.folder && options.figures
             ? draw(options, *loaded.folder, report_page(options, /*no_runs=*/true))
             : Result<Exit>(Exit::done);
}

// The first database beside each other one.
Result<std::vector<Comparison>> comparisons(const ReportOptions& o) {
  BLKSWEEP_TRY(const ComparedSide a, load_side({o.db, o.experiment}));
  std::vector<Comparison> out;
  for (const std::string& other : o.others) {
    BLKSWEEP_TRY(const ComparedSide b, load_side({other, o.other_experiment}));
    BLKSWEEP_TRY(Comparison compared, compare(a, b, o.baseline));
    out.push_back(std::move(compared));
  }
  return out;
}

void say_comparisons(const std::vector<Comparison>& all, bool json) {
  Json documents = Json::array();
  std::string text;
  for (const Comparison& c : all) {
    documents.push_back(comparison_json(c));
    text += (text.empty() ? "" : "\n\n") + comparison_text(c);
  }
  const Json& document = all.size() == 1 ? documents.front() : Json{{"comparisons", documents}};
  say_text(json ? json_text(document) + "\n" : text);
}

// What was made of one database is said of two.
Result<Exit> report_comparison(const ReportOptions& o) {
  if (!o.cells.empty() || o.margin || o.explain) {
    return usage_error("--cells, --margin and --explain are of one database");
  }
  if (o.others.size() > 1 && !o.out.empty()) {
    return usage_error(
        fmt::format("-o: a page compares two databases: leave it out for a table of each with {0}, "
                    "or make a page of each: report {0} {1} -o DIR",
                    o.db, o.others.front()));
  }
  BLKSWEEP_TRY(const std::vector<Comparison> all, comparisons(o));
  BLKSWEEP_TRY(const std::optional<ReportFolder> folder, begin_folder(o.out));
  say_comparisons(all, o.json);
  if (!folder) {
    return Exit::done;
  }
  flush_answer();
  BLKSWEEP_CHECK(folder->write("compare.json", json_text(comparison_json(all.front())) + "\n"));
  if (o.figures) {
    return draw(o, *folder, {"compare.py", "compare.html", o.look.arguments()});
  }
  BLKSWEEP_CHECK(folder->publish());
  return Exit::done;
}

Result<Exit> report(const ReportOptions& options) {
  BLKSWEEP_TRY(const WholeReport loaded, load_whole(options));
  if (!loaded.report) {
    return report_others(loaded, options);
  }
  print(*loaded.report, loaded.others, options);
  if (!loaded.folder) {
    return Exit::done;
  }
  flush_answer();
  BLKSWEEP_CHECK(write_tables(*loaded.report, *loaded.folder));
  if (options.figures) {
    return draw(options, *loaded.folder, report_page(options));
  }
  BLKSWEEP_CHECK(loaded.folder->publish());
  return Exit::done;
}

}  // namespace

Result<Exit> make_report(const ReportRequest& request) {
  ReportOptions options;
  options.db = request.db;
  options.out = request.out;
  options.experiment = request.experiments;
  options.json = request.json;
  return report(options);
}

void add_report(Verbs& verbs) {
  Command app = verbs.root.add_subcommand(
      "report", "tables, figures, CSV and one page from a results database");
  const auto options = std::make_shared<ReportOptions>();
  app.add_option("-o,--output", options->out,
                 "folder for report.html, figures/, cells.csv and runs.csv");
  add_report_choice(app, *options);
  app.add_option("OTHER", options->others, "others: compare the first with each");
  app.add_option("--other-experiment", options->other_experiment,
                 "of OTHER: newest (default), or its id");
  add_figure_look(app, options->look);
  app.add_flag(
      "--no-figures", [options] { options->figures = false; },
      "write the CSV files, draw no figures");
  app.add_flag("--explain", options->explain, "say what the columns of the table mean");
  app.add_flag("--json", options->json, "one JSON document instead of the table");
  app.footer(kReportExamples);
  app.callback([&verbs, options] {
    verbs.action = [options] {
      return options->others.empty() ? report(*options) : report_comparison(*options);
    };
  });
}

}  // namespace blksweep
