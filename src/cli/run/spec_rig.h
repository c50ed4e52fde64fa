// The [[disk]] and [[data]] tables of a spec (docs/specs.md).
//
// Errors:  usage, with file, line and column: an unknown key with its nearest name, a value that is
//          none, a disk or data set that says too little or too much.
// Threads: pure, but for models, which are files.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/toml.h"
#include "rig/settings.h"

namespace blksweep {

// Nothing where the spec has no such tables. `workdir` stays empty.
Result<std::optional<RigSettings>> parse_rig(const toml::table& root, const std::string& file);

}  // namespace blksweep
