// The libaio engine: io_submit(2) in groups, io_getevents(2). The field's baseline.
//
// Blocks:  io_submit reads buffered files within the call, and waits where the device's queue is
//          full or a map of the file is not in memory; how long is in own_counts().
// Errors:  io_setup refused (fs.aio-max-nr, seccomp) is Exit::unsupported with the way out.
// Files:   slots may be refilled while reads on their old file are in flight.
// Source:  io_submit(2); /proc/sys/fs/aio-max-nr in the kernel's admin-guide/sysctl/fs.
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_libaio_engine(const EngineSettings& settings);

}  // namespace blksweep
