#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "store/schema/schema.h"

namespace blksweep {
namespace {

// Before the first release every change of a table had a number of its own; none of those files is
// read.
constexpr std::int32_t kUnreleasedId = 0x626C6B73;  // "blks"

using Definitions = std::map<std::string, std::string>;  // name -> SQL

// Comments explain a column and may be put in better words; blanks line them up. No string of ours
// has either.
std::string without_comments(std::string_view sql) {
  std::string bare;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql.substr(at).starts_with("--")) {
      at = std::min(sql.find('\n', at), sql.size());
    } else if (sql[at] != ' ' && sql[at] != '\n') {
      bare += sql[at];
      continue;
    }
    bare += bare.ends_with(' ') ? "" : " ";
  }
  return bare;
}

Result<Definitions> definitions_of(Database& db) {
  BLKSWEEP_TRY(Statement query,
               db.prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"));
  Definitions all;
  for (;;) {
    BLKSWEEP_TRY(const bool row, query.step());
    if (!row) {
      return all;
    }
    std::string name;
    query.read(name);
    std::string sql;
    query.read(sql);
    all[name] = without_comments(sql);
  }
}

// What our queries rest on is as we make it; what else somebody has added is not looked at.
Result<> check_definitions(Database& db) {
  BLKSWEEP_TRY(Database fresh, Database::in_memory());
  BLKSWEEP_CHECK(create_schema(fresh));
  BLKSWEEP_TRY(const Definitions ours, definitions_of(fresh));
  BLKSWEEP_TRY(const Definitions found, definitions_of(db));
  for (const auto& [name, sql] : ours) {
    const auto at = found.find(name);
    if (at == found.end() || at->second != sql) {
      return fail(
          fmt::format("{}: {} is not as this blksweep makes it: name a new file, or use the "
                      "blksweep that wrote it",
                      db.name(), name));
    }
  }
  return {};
}

}  // namespace

Result<std::int64_t> read_number(Database& db, const char* sql) {
  BLKSWEEP_TRY(Statement query, db.prepare(sql));
  BLKSWEEP_TRY(const bool row, query.step());
  std::int64_t value = 0;
  if (row) {
    query.read(value);
  }
  return value;
}

Result<> check_schema(Database& db) {
  BLKSWEEP_TRY(const std::int64_t application, read_number(db, "PRAGMA application_id"));
  if (application != kApplicationId && application != kUnreleasedId) {
    return fail(db.name() + " is not a blksweep database: name a new file");
  }
  BLKSWEEP_TRY(const std::int64_t version, read_number(db, "PRAGMA user_version"));
  if (application == kUnreleasedId || version != kSchemaVersion) {
    return fail(fmt::format(
        "{} has schema version {}{}, this blksweep reads and writes {}: name a new "
        "file, or use the blksweep that wrote it",
        db.name(), version, application == kUnreleasedId ? " of before the first release" : "",
        kSchemaVersion));
  }
  return check_definitions(db);
}

}  // namespace blksweep
