// The tables of a results database: their SQL, and how a file is recognised as one.
//
// Every column is documented, with its unit, in docs/results-schema.md.
// Version: PRAGMA user_version. A file of an older version is brought up when it is opened for
//          writing, which only adds tables; read-only it is read as it is. A newer one is refused.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace blksweep {

inline constexpr std::int32_t kApplicationId = 0x626C6B73;  // "blks"
inline constexpr std::int32_t kSchemaVersion = 2;

// An empty file becomes a results database; an older one gets the tables it lacks.
Result<> prepare_schema(Database& db);
// The file must already be a results database of this version or an older one; nothing is written.
Result<> check_schema(Database& db);

}  // namespace blksweep
