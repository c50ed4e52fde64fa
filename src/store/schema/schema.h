// The tables of a results database: their SQL, and how a file is recognised as one.
//
// Every column is documented, with its unit, in docs/results-schema.md.
// Version: PRAGMA user_version. There is one; a file of another is refused by name, and never
//          changed.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace blksweep {

inline constexpr std::int32_t kApplicationId = 0x62737770;  // "bswp"
inline constexpr std::int32_t kSchemaVersion = 1;

Result<> create_schema(Database& db);  // the tables, in an empty database
// Of a query that gives one number; 0: no row.
Result<std::int64_t> read_number(Database& db, const char* sql);

// An empty file becomes a results database; anything else must already be one.
Result<> prepare_schema(Database& db);
// The file must already be a results database whose tables and views are those that we make; what
// else somebody has added is not looked at. Nothing is written to it.
Result<> check_schema(Database& db);

}  // namespace blksweep
