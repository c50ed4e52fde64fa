// Where a file of ours may go: into a name that is free, or into the place of an older one of its
// own kind, so that a slip in -o does not cost somebody a file.
//
// Errors:  usage: what is there is not empty, and of no such kind. What cannot be looked at, and a
//          folder in which no file can be made, before anything is measured.
// Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct OutputKind {
  std::string_view name;                // "trace"
  std::vector<std::string> beginnings;  // the first bytes of each are one of these
};
Result<> check_output_place(const std::string& path, const OutputKind& kind);

}  // namespace blksweep
