// Traces: the parts of ResultStore and ResultReader that know the tables trace, trace_curve and
// trace_access.
#include <fmt/format.h>

#include "store/insert.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/run_columns.h"
#include "store/select.h"

namespace blksweep {
namespace {

Result<> insert_curves(Database& db, std::int64_t trace, const std::vector<CurvePoint>& points) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO trace_curve VALUES (?, ?, ?, ?)"));
  for (const CurvePoint& p : points) {
    insert.bind(trace);
    insert.bind(p.kind);
    insert.bind(p.x);
    insert.bind(p.y);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

Result<> insert_accesses(Database& db, std::int64_t trace,
                         const std::vector<TraceAccess>& accesses) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO trace_access VALUES (?, ?, ?, ?, ?)"));
  for (const TraceAccess& a : accesses) {
    insert.bind(trace);
    insert.bind(a.time_ns);
    insert.bind(static_cast<double>(a.address));
    insert.bind(a.bytes);
    insert.bind(a.op);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

}  // namespace

Result<std::int64_t> ResultStore::add_trace(const TraceRow& trace) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  Insert row("trace");
  each_trace_column(trace, row);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  BLKSWEEP_CHECK(insert_curves(db_, id, trace.curves));
  BLKSWEEP_CHECK(insert_accesses(db_, id, trace.accesses));
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<std::vector<StoredTrace>> ResultReader::traces() {
  std::vector<StoredTrace> found;
  BLKSWEEP_TRY(Statement there, db_.prepare("SELECT 1 FROM sqlite_master WHERE name = 'trace'"));
  BLKSWEEP_TRY(const bool some, there.step());
  if (!some) {
    return found;
  }
  ColumnNames names;
  TraceRow none;
  each_trace_column(none, names);
  BLKSWEEP_TRY(
      Statement query,
      db_.prepare(fmt::format("SELECT trace_id, {} FROM trace ORDER BY trace_id", names.text())));
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    StoredTrace& t = found.emplace_back();
    row.read(t.id);
    each_trace_column(t.row, RowReader(row));
  }));
  return found;
}

}  // namespace blksweep
