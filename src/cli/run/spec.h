// Spec files: the options of `run` as TOML, with any number of [[cell]] tables, a [matrix] of
// cells, and what they stand on: [[disk]], [[data]], [limits] (docs/specs.md).
//
// Top-level keys are options by their long names and hold for every cell; each [[cell]] overrides
// some. A value is a string, an integer, a boolean (flags) or a list of those (swept). Options on
// the command line override both. Errors: a line that is not TOML, a value of another kind, quoted
// with file, line and column; what is wrong with a name or a value is found later, and then said
// with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/run/cell_options.h"
#include "cli/run/matrix.h"
#include "rig/settings.h"

namespace blksweep {

struct Spec {
  CellText top;
  std::vector<CellText> cells;
  SpecPlaces top_places = {};
  std::vector<SpecPlaces> cell_places = {};  // beside cells
  Matrix matrix = {};
  std::optional<RigSettings> rig = {};  // disks and data sets to be set up
  std::string text = {};                // of the file
  bool of_stranger = false;             // root takes from it what is measured, not where is written
};

Result<Spec> parse_spec(std::string_view text, const std::string& name);
Result<Spec> load_spec(const std::string& path);

// Makes cells of the matrix, behind those that are there. `site`: the names of disk and data.
// `command_line`: what is swept and excluded holds with its values (matrix.h).
Result<> add_matrix_cells(Spec& spec, const CellText& site, const CellText& command_line);

}  // namespace blksweep
