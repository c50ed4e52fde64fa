// What a folder holds, or the reason why that is not known: a folder that cannot be read is no
// empty one.
//
// Source:  opendir(3), readdir(3).
// Errors:  the folder and what the kernel said.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

// Whole paths, sorted; without "." and "..".
Result<std::vector<std::string>> paths_in(const std::string& folder);
// The same; a folder that is not there holds nothing.
Result<std::vector<std::string>> paths_in_any(const std::string& folder);

}  // namespace blksweep
