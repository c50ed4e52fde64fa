// The view run_wide: one row per run and one column per setting of its cell, for pandas and others
// who do not like to pivot (docs/results-schema.md).
//
// Columns: set_NAME with _ for -, NULL where a setting means nothing in the cell or was unknown to
//          the program that wrote it; whole numbers are integers.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace blksweep {

// The names of cell settings (cell_setting.name). A test compares them with those that cells have.
std::span<const std::string_view> setting_names();
std::string wide_view_sql();

}  // namespace blksweep
