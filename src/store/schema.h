// The tables of a results database: their SQL, and how a file is recognised as one.
//
// Every column is documented, with its unit, in docs/results-schema.md.
// Version: PRAGMA user_version. There is one; a file of another is refused by name, and never
// changed.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace blksweep {

inline constexpr std::int32_t kApplicationId = 0x62737770;  // "bswp"
inline constexpr std::int32_t kSchemaVersion = 1;

// An empty file becomes a results database; anything else must already be one.
Result<> prepare_schema(Database& db);
// The file must already be a results database; nothing is written to it.
Result<> check_schema(Database& db);

}  // namespace blksweep
