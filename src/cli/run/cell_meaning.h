// Which settings mean something in a cell: the window of a cell that does not shuffle, say, does
// not.
//
// Rule:    where it means nothing a setting is recorded as "-" (null in JSON), so that a sweep over
//          it is one cell there, and not several whose noise would read as an effect.
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "experiment/cell.h"

namespace blksweep {

inline constexpr std::string_view kMeansNothing = "-";

// `option` as on the command line: "merge-gap". Options that are not known here always mean
// something.
bool has_meaning(std::string_view option, const CellSettings& cell);

// What a setting that means nothing would need: "window: only with --shuffle".
std::string needed_for(std::string_view option);

}  // namespace blksweep
