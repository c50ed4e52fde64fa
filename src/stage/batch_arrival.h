// BatchArrival: when a batch that is on its way to an accelerator will be there, as far as work can
// be queued behind it.
//
// Threads: value. The event belongs to the copy stage and stays until the batch is consumed.
#pragma once

#include <cstdint>

namespace blksweep {

struct BatchArrival {
  std::int64_t at_ns = 0;       // CLOCK_MONOTONIC; may lie ahead. Without meaning beside an event
  const void* event = nullptr;  // of a GPU (stage/cuda); nullptr: the time is known
};

}  // namespace blksweep
