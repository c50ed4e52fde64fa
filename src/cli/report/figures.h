// Finds Python and the figure scripts, and runs them.
//
// Scripts: $BLKSWEEP_SCRIPTS, else ../scripts beside the build folder of the program, else
//          ../share/blksweep/scripts of an installed one.
// Python:  $BLKSWEEP_PYTHON, else /usr/bin/python3, else python3: the first that can import numpy
//          and matplotlib. Another python3 in PATH often cannot.
// Trust:   it starts in /, without the user's own packages, PYTHON* variables and matplotlibrc, so
//          that nothing in the caller's folder is run (docs/security.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace blksweep {

struct FigureTools {
  std::string python;
  std::string script;
};

// Errors: Exit::incomplete, with what is missing and how to get it.
// `name` is "report.py" or "paper.py".
Result<FigureTools> find_figure_tools(const std::string& name);

// An option that takes one of these words.
void add_word(Command app, const std::string& name, std::string& target,
              const std::vector<std::string>& words, const std::string& help);

struct FigureLook {
  std::string title = "off", axis = "auto";
  // --no-runs: of a database that has maps, replays or traces alone.
  std::vector<std::string> arguments(bool no_runs = false) const;
};
// --title and --axis.
void add_figure_look(Command app, FigureLook& look);

struct FigureJob {
  std::string db;      // as it is called
  std::string copy;    // absolute; that no one writes to; empty: the script reads none
  std::string output;  // absolute; holds cells.csv, gets what the script makes
  std::vector<std::string> options;
};
// Runs the script; its complaint is part of the error. Ends with a stop (os/process/signals.h).
Result<> run_figures(const FigureTools& tools, const FigureJob& job);

}  // namespace blksweep
