// The batches of a run as intervals: what the account and a timeline both are made of, so that a
// lane is the same in either (docs/account.md).
//
// Units:   nanoseconds of CLOCK_MONOTONIC.
// Threads: pure functions.
#pragma once

#include <vector>

#include "stats/account.h"
#include "store/records.h"

namespace blksweep {

// Of the copy lane: from when the copy stage takes the batch up until it is through with it, so
// that gathering, registering and giving back count, not only the transfer.
BatchSpans spans_of(const BatchRecord& batch);

// One per batch, in the order of delivery.
std::vector<BatchSpans> batch_spans(const std::vector<BatchRecord>& batches);
std::vector<MemoryWait> memory_waits(const std::vector<ReadWaitRecord>& waits);

}  // namespace blksweep
