// Sleeping to a deadline, which keeps the CPU free as a real accelerator does.
#pragma once

#include <cstdint>

namespace blksweep {

// Until CLOCK_MONOTONIC reaches `deadline_ns`; at once when it has. Takes the default 50 us of
// timer slack from the calling thread, for good.
void sleep_until(std::int64_t deadline_ns);

}  // namespace blksweep
