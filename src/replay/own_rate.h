// How many requests per second the loop of a replay can issue here, without a device: reads of an
// engine that is always done at once.
//
// Takes:   about 50 ms of one CPU.
// Threads: the caller's.
#pragma once

#include "base/result.h"

namespace blksweep {

Result<double> own_request_rate(unsigned depth);

}  // namespace blksweep
