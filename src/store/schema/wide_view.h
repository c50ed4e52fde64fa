// The view run_wide: one row per run and one column per setting of its cell, for pandas and others
// who do not like to pivot (docs/results-schema.md).
//
// Columns: set_NAME with _ for -, NULL where a setting means nothing in the cell or was unknown to
//          the program that wrote it; whole numbers are integers. A test compares the names with
//          those that cells have.
#pragma once

namespace blksweep {

extern const char* const kWideView;

}  // namespace blksweep
