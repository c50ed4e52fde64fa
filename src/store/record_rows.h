// Records of a run as rows: one of a table, or some that are numbered by `position`.
//
// Each: [](auto& record, auto&& f), which calls f(column, field) of all fields
// (store/schema/run_columns.h).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "store/insert.h"
#include "store/select.h"

namespace blksweep {

template <class Record, class Each>
Result<> insert_one(Database& db, std::int64_t run, const char* table, const Maybe<Record>& record,
                    Each each) {
  if (!record) {
    return {};
  }
  Insert row(table);
  row("run_id", run);
  each(*record, row);
  return row.into(db);
}

template <class Record, class Each>
Result<> read_one(Database& db, std::int64_t run, const char* table, Maybe<Record>& record,
                  Each each) {
  ColumnNames names;
  Record none;
  each(none, names);
  BLKSWEEP_TRY(Statement query,
               db.prepare(fmt::format("SELECT {} FROM {} WHERE run_id = ?", names.text(), table)));
  query.bind(run);
  return for_each_row(query, [&](Statement& row) { each(record.emplace(), RowReader(row)); });
}

template <class Record, class Each>
Result<> insert_rows(Database& db, const char* table, std::int64_t run,
                     const std::vector<Record>& records, Each each) {
  std::int64_t position = 0;
  for (const Record& record : records) {
    Insert row(table);
    row("run_id", run);
    row("position", position++);
    each(record, row);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

template <class Record, class Each>
Result<> read_rows(Database& db, const char* table, std::int64_t run, std::vector<Record>& found,
                   Each each) {
  ColumnNames names;
  Record none;
  each(none, names);
  BLKSWEEP_TRY(Statement query,
               db.prepare(fmt::format("SELECT {} FROM {} WHERE run_id = ? ORDER BY position",
                                      names.text(), table)));
  query.bind(run);
  return for_each_row(query, [&](Statement& row) { each(found.emplace_back(), RowReader(row)); });
}

}  // namespace blksweep
