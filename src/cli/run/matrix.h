// The [matrix] of a spec: every combination of its lists is a cell, less what is excluded.
//
// together: options that change as one: their lists are of one length and are taken in step.
// exclude:  tables of options; a combination that has all values of one of them is left out. The
//           names `disk` and `data` stand for those of the site.
// Errors:   usage, with file, line and column; names of options and their values are judged later,
//           as those of [[cell]] are (options.h).
// Threads:  pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/toml.h"
#include "cli/run/cell_options.h"

namespace blksweep {

// "sweep.toml:3:9": where an option's name and its value stand.
struct SpecPlace {
  std::string name, value;
};
using SpecPlaces = std::map<std::string, SpecPlace, std::less<>>;

struct MatrixAxis {  // names that change as one; mostly one
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> values;  // of each name, all of one length
};

struct Matrix {
  std::vector<MatrixAxis> axes;
  std::vector<CellText> exclude;
  SpecPlaces places = {};
};

Result<Matrix> parse_matrix(const toml::table& table, const std::string& file);

// One value for each name: the product of the axes, less the excluded. `site`: disk and data.
// `over`: of the command line; its values take the place of those that an axis has for that name,
// before anything is excluded. Peers of the command line are beside the cells, and in none.
// Without axes: nothing. Errors: more combinations than a sweep may have.
Result<std::vector<CellText>> combinations(const Matrix& matrix, const CellText& site,
                                           const CellText& over = {});

}  // namespace blksweep
