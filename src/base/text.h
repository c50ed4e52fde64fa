// Texts of others (parsers, programs, file names) in messages of ours.
#pragma once

#include <string>

namespace blksweep {

// Control characters become blanks, those at the end go: an error is one line.
std::string one_line(std::string text);

}  // namespace blksweep
