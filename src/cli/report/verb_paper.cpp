// blksweep paper: figures, tables, numbers and the data behind them, for a LaTeX document.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/report/figures.h"
#include "cli/report/folder.h"
#include "cli/report/report_data.h"
#include "cli/verb.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPaperFooter =
    R"(DIR gets figures/ (PDF and PGF, as wide as a column and as a page), tables/,
numbers.tex, captions.tex, methods.tex, data/, rerun.sh, and paper.tex, a sample
that inputs all of it. Making it needs no LaTeX. Names: docs/paper.md.

examples:
  blksweep paper results.db -o paper
  blksweep paper results.db -o paper --baseline order=random --axis log
  blksweep paper results.db -o paper --experiment all --width column --title on)";

struct PaperOptions : ReportChoice {
  std::string out, width = "both", font = "cm";
  std::vector<std::string> others;
  FigureLook look;
};

// The options that made a paper, for rerun.sh; DB and folder are its own.
Json arguments_of(const PaperOptions& o) {
  Json words = Json::array();
  const auto add = [&words](const char* option, const std::string& value, const char* usual) {
    if (value != usual) {
      words.push_back(option);
      words.push_back(value);
    }
  };
  add("--experiment", o.experiment, "newest");
  add("--cells", filter_text(o.cells), "");
  add("--baseline", filter_text(o.baseline), "");
  add("--margin", o.margin ? fmt::format("{}%", *o.margin * 100) : "", "");
  add("--title", o.look.title, "off");
  add("--axis", o.look.axis, "auto");
  add("--width", o.width, "both");
  add("--font", o.font, "cm");
  return words;
}

Json numbers_json(const Report& report, const PaperOptions& options) {
  Json out{{"arguments", arguments_of(options)},
           {"experiments", Json::array()},
           {"cells", Json::array()}};
  for (const StoredExperiment& e : report.joined.experiments) {
    out["experiments"].push_back(e.id);
  }
  for (const CellSummary& c : report.cells) {
    Json numbers = Json::object();
    for (const auto& [name, text] : summary_numbers(c)) {
      numbers[name] = text;
    }
    out["cells"].push_back({{"cell_id", c.cell_id},
                            {"numbers", std::move(numbers)},
                            {"reasons", c.incomplete_reasons}});
  }
  return out;
}

// A folder that holds something else is not ours to fill; what of it was edited, the script looks.
Result<> check_ours(const std::string& out) {
  std::error_code error;
  if (!fs::exists(out, error) || fs::is_empty(out, error) ||
      fs::exists(fs::path(out) / "SHA256SUMS", error)) {
    return {};
  }
  return fail(out + " is not empty, and no paper of blksweep: name another folder with -o");
}

std::vector<std::string> script_options(const PaperOptions& o) {
  std::error_code ignored;
  std::vector<std::string> words = o.look.arguments();
  words.insert(words.end(), {"--width", o.width, "--font", o.font, "--over",
                             fs::absolute(o.out, ignored).string()});
  return words;
}

// Numbers, tables and rerun.sh are of one database; one document inputs several folders.
Result<> check_alone(const PaperOptions& o) {
  if (o.others.empty()) {
    return {};
  }
  return usage_error(fmt::format(
      "paper: of one database: make a folder of each; one document inputs several, each "
      "after its \\def\\blkprefix{{NAME:}} (docs/paper.md); what differs: blksweep report "
      "{} {}",
      o.db, joined(o.others, " ")));
}

Result<Exit> make_paper(const PaperOptions& options) {
  BLKSWEEP_CHECK(check_alone(options));
  BLKSWEEP_TRY(const FigureTools tools, find_figure_tools("paper.py"));
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open_moment(options.db));
  BLKSWEEP_TRY(const Report report, load_report(reader, options));
  BLKSWEEP_CHECK(check_ours(options.out));
  install_stop_signals();  // the folder it works in goes with it
  BLKSWEEP_TRY(ReportFolder folder, ReportFolder::begin(options.out));
  BLKSWEEP_CHECK(folder.freeze(std::move(reader)));
  BLKSWEEP_CHECK(write_tables(report, folder));
  BLKSWEEP_CHECK(folder.write("numbers.json", json_text(numbers_json(report, options))));
  BLKSWEEP_CHECK(run_figures(tools, {.db = options.db,
                                     .copy = folder.database(),
                                     .output = folder.working(),
                                     .options = script_options(options)}));
  BLKSWEEP_CHECK(folder.publish());
  if (report.rig.judged) {
    note(rig_line(report.rig));
  }
  note(fmt::format("paper: {}: its README.md says what is what", options.out));
  return Exit::done;
}

}  // namespace

void add_paper(Verbs& verbs) {
  Command app = verbs.root.add_subcommand(
      "paper", "figures, tables, numbers and frozen data for a LaTeX document");
  const auto options = std::make_shared<PaperOptions>();
  app.add_option("-o,--output", options->out, "folder for everything").required();
  add_report_choice(app, *options);
  app.add_option("OTHER", options->others, "refused: a folder of each, for one document");
  add_figure_look(app, options->look);
  add_word(app, "--width", options->width, {"column", "page", "both"},
           "of figures: column, page, both (default)");
  add_word(app, "--font", options->font, {"cm", "times"},
           "of PDF figures: cm (default), times; PGF has the document's");
  app.footer(kPaperFooter);
  app.callback([&verbs, options] { verbs.action = [options] { return make_paper(*options); }; });
}

}  // namespace blksweep
