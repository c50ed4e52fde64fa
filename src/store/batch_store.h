// What happened to the batches of a run, in the tables batch, batch_stage and read_wait.
//
// Errors:  of the database; a stage that this program does not know, or a batch without its read.
// Threads: as Database.
#pragma once

#include <cstdint>
#include <vector>

#include "store/database.h"
#include "store/records.h"

namespace blksweep {

Result<> insert_batches(Database& db, std::int64_t run, const RunRecord& record);
Result<std::vector<BatchRecord>> read_batches(Database& db, std::int64_t run);
Result<std::vector<MemoryWait>> read_waits(Database& db, std::int64_t run);

}  // namespace blksweep
