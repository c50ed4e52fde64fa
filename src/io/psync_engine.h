// The psync engine: preadv(2) on the caller's thread, one read at a time.
//
// Works wherever reading works. facts().depth is 1: submit() returns when its reads are done.
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_psync_engine(const EngineSettings& settings);

}  // namespace blksweep
