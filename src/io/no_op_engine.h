// The engine that reads nothing: each request is complete when it was submitted, in full length,
// and its memory is as it was. A run with it is what the tool itself costs (docs/controls.md).
//
// Files: none are kept; slots mean nothing.
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_no_op_engine(const EngineSettings& settings);

}  // namespace blksweep
