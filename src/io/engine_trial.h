// What the kernel gives this process: an engine made as a run makes its own, a few reads through
// it; of a ring also one openat.
//
// Errors:  as make_engine(): Exit::unsupported with what the kernel said.
// Effects: none; it reads a page of a memory file, and opens the root folder.
// Threads: one owner.
#pragma once

#include <string>

#include "base/result.h"
#include "io/engine.h"

namespace blksweep {

struct UringTrial {
  EngineFacts facts;         // features that the ring has, and those that were refused
  std::string reads_refuse;  // empty: read_fixed and readv gave their bytes
  std::string open_refuses;  // empty: IORING_OP_OPENAT works
};

// `settings` as for a run: its arena is registered.
Result<UringTrial> try_uring(const EngineSettings& settings);

// The reads alone, through any engine: an error when it cannot be made, or cannot read.
Result<> try_reads(EngineKind kind, const EngineSettings& settings);

// Why an engine of this depth cannot read a page, with the way out; empty when it can, or when only
// descriptors or memory lack: the run says those better. One that polls a device is only made.
std::string engine_refusal(EngineKind kind, unsigned depth);

// Why a ring of this depth cannot read a page; empty when it can, or when only descriptors or
// memory lack: the run says those better.
std::string ring_refusal(unsigned depth);

}  // namespace blksweep
