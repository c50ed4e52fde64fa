// Disk models by the words of the command line: "none", the name of a file in scripts/models, or a
// path (has a '/' or ends in .toml).
#pragma once

#include <string>

#include "base/result.h"
#include "model/model_spec.h"

namespace blksweep {

// Errors: usage; lists the models that there are.
Result<ModelSpec> model_by_name(const std::string& text);

}  // namespace blksweep
