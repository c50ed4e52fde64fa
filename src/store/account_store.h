// The account of a run in the database: written with its run, read back beside it.
//
// Errors:  as ResultStore; a file without these tables never gets here (store/schema/schema.h).
// Threads: the owner of the database.
#pragma once

#include <cstdint>

#include "store/database.h"
#include "store/records.h"

namespace blksweep {

// account, account_lane, account_stall, account_phase, copy_cost, overlap, device_clock,
// accelerator.
Result<> insert_account(Database& db, std::int64_t run, const RunRecord& record);
Result<> read_account(Database& db, std::int64_t run, RunRecord& record);

}  // namespace blksweep
