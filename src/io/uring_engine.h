// The io_uring engine: one ring, registered files and buffers, batched submission.
//
// Errors:  Exit::unsupported when the kernel gives no ring at all (io_uring_disabled, seccomp);
//          single features that are refused are listed in facts().refused and done without.
// Files:   slots may be refilled while reads on their old file are in flight.
// Source:  io_uring_setup(2), io_uring_register(2); measured in docs/kernel-notes.md.
#pragma once

#include <memory>

#include "io/engine.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineSettings& settings);

// A thread of the kernel takes what is submitted (IORING_SETUP_SQPOLL): no system call a group, and
// a CPU that polls. Its time is part of this process's CPU time.
Result<std::unique_ptr<Engine>> make_sqpoll_engine(const EngineSettings& settings);

// Completions are polled from the device (IORING_SETUP_IOPOLL) instead of by its interrupts: direct
// reads only, and a device without poll queues fails each of them with EOPNOTSUPP.
Result<std::unique_ptr<Engine>> make_iopoll_engine(const EngineSettings& settings);

}  // namespace blksweep
