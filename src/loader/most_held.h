// How many batches a caller may hold unreleased at once, without waiting for ever for the next.
//
// A gate of the schedule lets a read go once so many batches are consumed; a batch whose reads need
// more of them than its number less k can only come when fewer than k + 1 before it are out.
// Threads: pure.
#pragma once

#include <cstdint>

#include "plan/plan.h"
#include "plan/schedule.h"

namespace blksweep {

// 1 at least.
std::uint32_t most_held_batches(const Plan& plan, const Schedule& schedule);

}  // namespace blksweep
