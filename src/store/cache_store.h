// What became of the page cache during a run, in the database: page_cache and its files (its
// series goes with the others).
//
// Errors:  as ResultStore; a file without these tables never gets here (store/schema/schema.h).
// Threads: the owner of the database.
#pragma once

#include <cstdint>

#include "store/cache_records.h"
#include "store/database.h"

namespace blksweep {

Result<> insert_page_cache(Database& db, std::int64_t run, const Maybe<CacheRecord>& record);
Result<Maybe<CacheRecord>> read_page_cache(Database& db, std::int64_t run);

}  // namespace blksweep
