// What a command reads is never replaced by what it writes: by no name of it, no link to it, and no
// file of a data set, which is somebody's data. Nor does what it writes become a sample of the next
// scan, which would be of another data set.
//
// Errors: usage, one line that names both; a name that cannot be looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct KeptFiles {
  std::vector<std::string> files = {};  // an empty name is none
  std::string folder = {};              // some of whose files are read
  std::string data_set = {};            // folder whose files are all samples
};

// `output`: what `option` names, or what becomes of it; empty: nothing is written.
Result<> check_kept(std::string_view option, const std::string& output, const KeptFiles& inputs);

}  // namespace blksweep
