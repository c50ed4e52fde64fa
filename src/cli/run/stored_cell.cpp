#include "cli/run/stored_cell.h"

#include "cli/run/cell_meaning.h"
#include "cli/run/cell_options.h"
#include "store/summary/labels.h"

namespace blksweep {

Result<CellSettings> stored_settings(const CellRecord& cell) {
  CellText text;
  for (const CellOption& option : cell_options()) {
    const std::string value = setting_of(cell, option.name);
    if (!value.empty() && value != kMeansNothing) {
      text[std::string(option.name)] = {value};
    }
  }
  BLKSWEEP_TRY(const std::vector<CellSettings> cells, expand_cells(text));
  return cells.front();
}

}  // namespace blksweep
