// Policy words of the command line: text to the enums of plan/settings.h, and nothing below sees
// the text.
//
// Errors:  an unknown word is a usage error that quotes it and lists the known ones.
// Threads: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/settings.h"

namespace blksweep {

// Several words separated by commas.
Result<std::vector<Order>> parse_orders(std::string_view text);
Result<std::vector<Merge>> parse_merges(std::string_view text);
Result<Shuffle> parse_shuffle(std::string_view text);

}  // namespace blksweep
