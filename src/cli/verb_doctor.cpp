// blksweep doctor: one screen of what works here.
#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "cli/answer.h"
#include "cli/report/figures.h"
#include "cli/verb.h"
#include "doctor/doctor.h"
#include "store/export/json.h"

namespace blksweep {
namespace {

constexpr const char* kHelp = "what works on this node, what does not, why, and the fix";
constexpr const char* kDoctorFooter =
    "Changes nothing. Exit 0: a run on PATH can do its main job; 1: it cannot.\n"
    "examples:\n"
    "  blksweep doctor\n"
    "  blksweep doctor DIR --json\n"
    "  blksweep doctor /dev/nvme0n1";
constexpr std::size_t kColumns = 100;
constexpr std::size_t kState = 9, kName = 16;

struct DoctorOptions {
  std::string path = ".";
  bool json = false;
};

// `text` in lines of at most kColumns, the following ones indented as far as `line` is long.
std::string wrapped(std::string line, std::string_view text) {
  const std::size_t indent = line.size();
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const bool first = line.size() == indent;
    if (!first && line.size() + 1 + end > kColumns) {
      out += line + '\n';
      line.assign(indent, ' ');
      continue;
    }
    line += (first ? "" : " ") + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + '\n';
}

std::string check_text(const Check& c) {
  std::string out =
      wrapped(fmt::format("{:<{}}{:<{}}", to_string(c.state), kState, c.name, kName), c.found);
  const std::string indent(kState + kName, ' ');
  if (c.state != Health::ok) {
    out += wrapped(indent, c.consequence + "; fix: " + c.fix);
  }
  return out;
}

std::string report_text(const DoctorReport& report, const std::string& path) {
  std::string out;
  std::size_t ok = 0;
  for (const Check& c : report.checks) {
    out += check_text(c);
    ok += c.state == Health::ok ? 1 : 0;
  }
  return out + fmt::format("\n{} of {} ok; a run on {} {}\n", ok, report.checks.size(), path,
                           report.ready ? "can do its main job" : "cannot begin");
}

Json report_json(const DoctorReport& report) {
  Json checks = Json::array();
  for (const Check& c : report.checks) {
    checks.push_back({{"name", c.name},
                      {"state", to_string(c.state)},
                      {"found", c.found},
                      {"consequence", c.consequence},
                      {"fix", c.fix}});
  }
  return {{"checks", std::move(checks)}, {"ready", report.ready}};
}

Result<std::string> figures() {
  BLKSWEEP_TRY(const FigureTools tools, find_figure_tools("report.py"));
  return tools.python;
}

Result<Exit> doctor_verb(const DoctorOptions& options) {
  BLKSWEEP_TRY(const DoctorReport report, examine_node({options.path, figures()}));
  say_text(options.json ? json_text(report_json(report)) + "\n"
                        : report_text(report, options.path));
  return report.ready ? Exit::done : Exit::failed;
}

}  // namespace

void add_doctor(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("doctor", kHelp);
  const auto options = std::make_shared<DoctorOptions>();
  app.add_option("PATH|DEV", options->path, "folder of the data, or a block device (.)");
  app.add_flag("--json", options->json, "one JSON document on stdout");
  app.footer(kDoctorFooter);
  app.callback([&verbs, options] { verbs.action = [options] { return doctor_verb(*options); }; });
}

}  // namespace blksweep
