#include "cli/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "cli/scripts.h"
#include "os/process/process.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// A first import on a slow disk; and far more than the page of a thousand cells takes.
constexpr Nanos kImportTime = std::chrono::minutes(5);
constexpr Nanos kDrawingTime = std::chrono::minutes(30);

Result<std::string> find_script(const std::string& name) {
  std::string looked;
  for (const fs::path& folder : script_folders()) {
    std::error_code ignored;
    const fs::path script = fs::absolute(folder, ignored) / "figures" / name;
    if (fs::exists(script, ignored)) {
      BLKSWEEP_CHECK(check_scripts(script.parent_path()));
      return script.string();
    }
    looked += (looked.empty() ? "" : ", ") + script.string();
  }
  return fail("no figures: " + looked + " is missing: set BLKSWEEP_SCRIPTS to the folder scripts",
              Exit::incomplete);
}

// The last line that is not empty: of a Python traceback, what went wrong.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  const std::size_t at = text.find_last_of('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

// In one line, why it did not do what was asked.
std::string why(const ProcessResult& run) {
  if (run.signal != 0) {  // its last words are of something else
    return fmt::format("ended by signal {} ({}){}", run.signal, ::strsignal(run.signal),
                       run.signal == SIGKILL ? ": too little memory?" : "");
  }
  return run.err.empty() ? fmt::format("exit status {}", run.exit_status) : last_line(run.err);
}

// Empty: it draws. Otherwise why not.
std::string tried(const std::string& python) {
  const auto run = run_process({.argv = {python, "-I", "-c", "import numpy, matplotlib"},
                                .directory = "/",
                                .timeout = kImportTime});
  if (!run) {
    return run.error().text;
  }
  return run->ok() ? "" : fmt::format("{}: {}", python, run->timed_out ? "too slow" : why(*run));
}

// What the script says of its copy is about the database.
std::string named(std::string text, const FigureJob& job) {
  const std::size_t at = job.copy.empty() ? std::string::npos : text.find(job.copy);
  return at == std::string::npos ? text : text.replace(at, job.copy.size(), job.db);
}

}  // namespace

void add_word(Command app, const std::string& name, std::string& target,
              const std::vector<std::string>& words, const std::string& help) {
  const auto one_of = [words](const std::string& text) -> Result<std::string> {
    if (std::ranges::find(words, text) != words.end()) {
      return text;
    }
    return usage_error(fmt::format("'{}' is none of {}", text, joined(words, ", ")));
  };
  add_parsed(app, name, target, one_of, help);
}

void add_figure_look(Command app, FigureLook& look) {
  add_word(app, "--title", look.title, {"on", "off"}, "titles in figures: on, off (default)");
  add_word(app, "--axis", look.axis, {"linear", "log", "auto"},
           "of measured values: linear, log, auto (default)");
}

std::vector<std::string> FigureLook::arguments(bool no_runs) const {
  std::vector<std::string> out{"--title", title, "--axis", axis};
  if (no_runs) {
    out.emplace_back("--no-runs");
  }
  return out;
}

Result<FigureTools> find_figure_tools(const std::string& name) {
  BLKSWEEP_TRY(const std::string script, find_script(name));
  const std::string named = environment("BLKSWEEP_PYTHON");
  const auto candidates = named.empty() ? std::vector<std::string>{"/usr/bin/python3", "python3"}
                                        : std::vector<std::string>{named};
  std::string found;  // of the first: what a shell calls python3 is mostly the same
  for (const std::string& python : candidates) {
    const std::string reason = tried(python);
    if (reason.empty()) {
      return FigureTools{python, script};
    }
    found = found.empty() ? reason : found;
  }
  return fail(
      "no figures: they need a Python with numpy and matplotlib: install python3-matplotlib "
      "(Debian) or set BLKSWEEP_PYTHON (" +
          found + ")",
      Exit::incomplete);
}

Result<> run_figures(const FigureTools& tools, const FigureJob& job) {
  // Not -I: the scripts import each other from their own folder, which that leaves out.
  std::vector<std::string> arguments{tools.python, "-E", "-s", tools.script, "-o", job.output};
  arguments.insert(arguments.end(), job.options.begin(), job.options.end());
  arguments.insert(arguments.end(), {"--", job.copy});
  BLKSWEEP_TRY(const ProcessResult run, run_process({.argv = arguments,
                                                     .directory = "/",
                                                     .environment = {"MATPLOTLIBRC=/"},
                                                     .timeout = kDrawingTime,
                                                     .interrupt = &stop_requested()}));
  if (run.interrupted) {
    return fail("interrupted: nothing is written", Exit::interrupted);
  }
  if (run.timed_out) {
    return fail(fmt::format(
        "figures of {}: not drawn within {} minutes: use --no-figures, or a "
        "database with fewer cells",
        job.db, std::chrono::duration_cast<std::chrono::minutes>(kDrawingTime).count()));
  }
  if (!run.ok()) {
    return fail(fmt::format("{}: {}", tools.script, named(why(run), job)));
  }
  return {};
}

}  // namespace blksweep
