// The tables of a results database: their SQL, and how a file is recognised as one.
//
// Every column is documented, with its unit, in docs/results-schema.md.
// Version: PRAGMA user_version; another version is refused, never converted silently.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace blksweep {

inline constexpr std::int32_t kApplicationId = 0x626C6B73;  // "blks"
inline constexpr std::int32_t kSchemaVersion = 1;

// An empty file becomes a results database; anything else must already be one of this version.
Result<> prepare_schema(Database& db);
// The file must already be a results database of this version; nothing is written.
Result<> check_schema(Database& db);

}  // namespace blksweep
