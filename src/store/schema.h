// The tables of a results database: their SQL, and how a file is recognised as one.
//
// Every column is documented, with its unit, in docs/results-schema.md.
// Version: PRAGMA user_version. Versions 2 (maps, predictions), 3 (node settings) and 5 (the
//          account of an epoch) add tables: writing adds them to an older file, reading does
//          without. Version 5 lets run.seeks be NULL, too. Version 4 was never released: files of
//          it differ among themselves. It and versions that this program does not know are refused.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace blksweep {

inline constexpr std::int32_t kApplicationId = 0x626C6B73;  // "blks"
inline constexpr std::int32_t kSchemaVersion = 5;

// An empty file becomes a results database; anything else must already be one. Missing tables of
// this version are added.
Result<> prepare_schema(Database& db);
// The file must already be a results database; nothing is written to it. What an older file
// lacks is there as empty temporary tables of this connection.
Result<> check_schema(Database& db);

}  // namespace blksweep
