// What a command reads is never replaced by what it writes: by no name of it, no link to it, and no
// file of a data set, which is somebody's data.
//
// Errors: usage, one line that names both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct KeptInputs {
  std::vector<std::string> files = {};  // an empty name is none
  std::string data = {};                // folder of a data set
};

// `output`: what `option` names, or what becomes of it.
Result<> check_kept(std::string_view option, const std::string& output, const KeptInputs& inputs);

}  // namespace blksweep
