// Spec files: the options of `run` as TOML, with any number of [[cell]] tables.
//
// Top-level keys are options by their long names and hold for every cell; each [[cell]] overrides
// some. A value is a string, an integer, a boolean (flags) or a list of those (swept). Options on
// the command line override both. Errors: a line that is not TOML, a value of another kind, quoted
// with file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/cell_options.h"

namespace blksweep {

struct Spec {
  CellText top;
  std::vector<CellText> cells;
  bool of_stranger = false;  // root takes from it what is measured, not where is written
};

Result<Spec> parse_spec(std::string_view text, const std::string& name);
Result<Spec> load_spec(const std::string& path);

}  // namespace blksweep
