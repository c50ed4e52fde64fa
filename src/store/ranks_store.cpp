// Epochs of ranks: the parts of ResultStore and ResultReader that know the tables ranks and
// rank_entry.
#include <fmt/format.h>

#include "store/insert.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/ranks_columns.h"
#include "store/select.h"

namespace blksweep {
namespace {

Result<> insert_entry(Database& db, std::int64_t ranks, const RankEntry& entry) {
  Insert row("rank_entry");
  row("ranks_id", ranks);
  each_rank_entry_column(entry, row);
  return row.into(db);
}

Result<std::vector<RankEntry>> read_entries(Database& db, std::int64_t ranks) {
  ColumnNames names;
  RankEntry none;
  each_rank_entry_column(none, names);
  BLKSWEEP_TRY(Statement query,
               db.prepare(fmt::format("SELECT {} FROM rank_entry WHERE ranks_id = ? ORDER BY rank",
                                      names.text())));
  query.bind(ranks);
  std::vector<RankEntry> found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    each_rank_entry_column(found.emplace_back(), RowReader(row));
  }));
  return found;
}

}  // namespace

Result<std::int64_t> ResultStore::add_ranks(const RanksRow& ranks) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  Insert row("ranks");
  each_ranks_column(ranks, row);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  for (const RankEntry& entry : ranks.entries) {
    BLKSWEEP_CHECK(insert_entry(db_, id, entry));
  }
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<std::vector<StoredRanks>> ResultReader::ranks() {
  std::vector<StoredRanks> found;
  BLKSWEEP_TRY(Statement there, db_.prepare("SELECT 1 FROM sqlite_master WHERE name = 'ranks'"));
  BLKSWEEP_TRY(const bool some, there.step());
  if (!some) {  // a database of before there were any
    return found;
  }
  ColumnNames names;
  RanksRow none;
  each_ranks_column(none, names);
  BLKSWEEP_TRY(
      Statement query,
      db_.prepare(fmt::format("SELECT ranks_id, {} FROM ranks ORDER BY ranks_id", names.text())));
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    StoredRanks& r = found.emplace_back();
    row.read(r.id);
    each_ranks_column(r.row, RowReader(row));
  }));
  for (StoredRanks& r : found) {
    BLKSWEEP_TRY(r.row.entries, read_entries(db_, r.id));
  }
  return found;
}

}  // namespace blksweep
