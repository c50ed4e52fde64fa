// When several readers that take turns with the memory all wait for it: the waits of a reader that
// is several threads, as the account knows them of one (MemoryWait).
//
// Rule:    at an instant the whole waits if no worker reads and one at least waits; a worker that
//          has ended reads no more. It waits for the least that any of them needs.
// Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/batch_times.h"

namespace blksweep {

struct WorkerWaits {
  std::vector<MemoryWait> waits;  // in order, without overlap
  std::int64_t ended = 0;         // after the last of them
};

std::vector<MemoryWait> common_waits(std::span<const WorkerWaits> workers);

}  // namespace blksweep
