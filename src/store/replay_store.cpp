// Replays: the parts of ResultStore and ResultReader that know the tables replay and replay_curve.
#include <fmt/format.h>

#include "store/insert.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/run_columns.h"
#include "store/select.h"

namespace blksweep {
namespace {

Result<> insert_curve(Database& db, std::int64_t replay, const std::vector<CurvePoint>& points) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO replay_curve VALUES (?, ?, ?, ?)"));
  for (const CurvePoint& p : points) {
    insert.bind(replay);
    insert.bind(p.kind);
    insert.bind(p.x);
    insert.bind(p.y);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

}  // namespace

Result<std::int64_t> ResultStore::add_replay(const ReplayRow& replay) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  Insert row("replay");
  each_replay_column(replay, row);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  BLKSWEEP_CHECK(insert_curve(db_, id, replay.curves));
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<std::vector<StoredReplay>> ResultReader::replays() {
  std::vector<StoredReplay> found;
  BLKSWEEP_TRY(Statement there, db_.prepare("SELECT 1 FROM sqlite_master WHERE name = 'replay'"));
  BLKSWEEP_TRY(const bool some, there.step());
  if (!some) {
    return found;
  }
  ColumnNames names;
  ReplayRow none;
  each_replay_column(none, names);
  BLKSWEEP_TRY(Statement query,
               db_.prepare(fmt::format("SELECT replay_id, {} FROM replay ORDER BY replay_id",
                                       names.text())));
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    StoredReplay& r = found.emplace_back();
    row.read(r.id);
    each_replay_column(r.row, RowReader(row));
  }));
  return found;
}

}  // namespace blksweep
