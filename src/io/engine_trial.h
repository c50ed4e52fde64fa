// What io_uring gives this process: a ring made as a run makes its own, a few reads through it, and
// one openat.
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

// The reads alone: an error when no ring is given, or when it cannot read.
Result<> try_uring_reads(const EngineSettings& settings);

// Why a ring of this depth cannot read a page; empty when it can, or when only descriptors or
// memory lack: the run says those better.
std::string ring_refusal(unsigned depth);

// The same reads by preadv(2).
Result<> try_psync(const EngineSettings& settings);

}  // namespace blksweep
