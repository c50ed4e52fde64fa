#include "cli/figures.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/scripts.h"
#include "os/process.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

Result<std::string> find_script() {
  std::string looked;
  for (const fs::path& folder : script_folders()) {
    const fs::path script = folder / "figures" / "report.py";
    std::error_code ignored;
    if (fs::exists(script, ignored)) {
      return script.string();
    }
    looked += (looked.empty() ? "" : ", ") + script.string();
  }
  return fail("no figures: " + looked + " is missing: set BLKSWEEP_SCRIPTS to the folder scripts",
              Exit::incomplete);
}

bool draws(const std::string& python) {
  const auto tried =
      run_process({.argv = {python, "-c", "import numpy, matplotlib"}, .directory = ""});
  return tried && tried->ok();
}

// The last line that is not empty: of a Python traceback, what went wrong.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  const std::size_t at = text.find_last_of('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

}  // namespace

Result<FigureTools> find_figure_tools() {
  BLKSWEEP_TRY(const std::string script, find_script());
  const std::string named = environment("BLKSWEEP_PYTHON");
  const auto candidates = named.empty() ? std::vector<std::string>{"/usr/bin/python3", "python3"}
                                        : std::vector<std::string>{named};
  for (const std::string& python : candidates) {
    if (draws(python)) {
      return FigureTools{python, script};
    }
  }
  return fail(
      "no figures: they need a Python with numpy and matplotlib: install python3-matplotlib "
      "(Debian) or set BLKSWEEP_PYTHON",
      Exit::incomplete);
}

Result<> run_figures(const FigureTools& tools, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {tools.python, tools.report_script});
  BLKSWEEP_TRY(const ProcessResult run, run_process({.argv = arguments, .directory = ""}));
  if (!run.ok()) {
    return fail(fmt::format(
        "{}: {}", tools.report_script,
        run.err.empty() ? fmt::format("exit status {}, signal {}", run.exit_status, run.signal)
                        : last_line(run.err)));
  }
  return {};
}

}  // namespace blksweep
