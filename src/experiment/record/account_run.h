// The account of a run, from what its record says of its batches (docs/account.md).
//
// The record alone is enough: an account can be made again from the database.
// Units:   nanoseconds of CLOCK_MONOTONIC.
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/cell.h"
#include "stats/account.h"
#include "stats/overlap.h"
#include "store/records.h"

namespace blksweep {

LaneSet lanes_of(const CellSettings& cell);

// Of begin_ns, epoch_ns, batches and read_waits.
Account account_run(const RunRecord& run, const LaneSet& lanes);
AccountRecord record_of(const Account& account);

// Of begin_ns, epoch_ns and device_work; nullopt: nothing was copied or computed there.
Maybe<OverlapRecord> overlap_record(const RunRecord& run, const LaneSet& lanes);

// Sets account, overlap, utilisation and first_batch_ns of a finished run. An identity that does
// not hold comes back in words, "" otherwise: a run whose account does not add up is not complete.
std::string keep_account(RunRecord& run, const LaneSet& lanes);

}  // namespace blksweep
