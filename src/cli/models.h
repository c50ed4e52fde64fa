// Device models by name: from the files that come with the program, or a path.
//
// Folders: $BLKSWEEP_SCRIPTS/models, else ../scripts/models beside the build folder of the program,
//          else ../share/blksweep/scripts/models of an installed one.
#pragma once

#include <string>

#include "base/result.h"
#include "model/model_spec.h"

namespace blksweep {

Result<ModelSpec> load_named_model(const std::string& name_or_path);

}  // namespace blksweep
