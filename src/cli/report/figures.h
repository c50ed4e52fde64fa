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

namespace blksweep {

struct FigureTools {
  std::string python;
  std::string report_script;
};

// Errors: Exit::incomplete, with what is missing and how to get it.
Result<FigureTools> find_figure_tools();
struct FigureJob {
  std::string db;
  std::string output;  // absolute; holds cells.csv, gets report.html and figures/
  bool no_runs = false;
};
// Runs the report script; its complaint is part of the error.
Result<> run_figures(const FigureTools& tools, const FigureJob& job);

}  // namespace blksweep
