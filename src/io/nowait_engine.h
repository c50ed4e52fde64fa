// The nowait engine: preadv2(2) with RWF_NOWAIT first, which answers what the page cache has, on
// the caller's thread; what would wait goes to a pool of threads that read with preadv(2).
//
// Counts:  answered_at_once: reads that the page cache had in full. One that it had in part
//          counts as not answered, and is read whole by the pool.
// Depth:   as many threads as reads in flight, at most 128.
// Refused: a filesystem without RWF_NOWAIT; its reads all go to the pool, and facts() say so.
// Buffered only: a direct read with RWF_NOWAIT waits for the device all the same.
// Files:   a slot with reads in the pool is refilled once they are done.
// Source:  preadv2(2).
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_nowait_engine(const EngineSettings& settings);

}  // namespace blksweep
