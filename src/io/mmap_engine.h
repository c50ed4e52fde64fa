// The mmap engine: each file is mapped when its slot is filled, and a read is a copy out of the
// mapping on the caller's thread, by page faults. One read at a time.
//
// Advice:  EngineSettings::advice, by madvise(2) on the whole mapping. One that is refused is in
//          facts().refused.
// Errors:  a file that was cut off meanwhile ends there, as for read(2); a page that the disk
//          cannot give is EIO. Neither ends the process.
// Counts:  minor and major faults of the thread during copies. The window's memory has been touched
//          before, so they are of the mappings.
// Buffered only: a mapping is the page cache. Writes are EOPNOTSUPP.
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_mmap_engine(const EngineSettings& settings);

}  // namespace blksweep
