#include "store/request_store.h"

#include <fmt/format.h>

#include "store/insert.h"
#include "store/request_columns.h"
#include "store/select.h"

namespace blksweep {
namespace {

// As each_order_column and its like, as values.
constexpr auto kOrder = [](auto& record, auto&& f) { each_order_column(record, f); };
constexpr auto kClass = [](auto& record, auto&& f) { each_request_class_column(record, f); };
constexpr auto kPath = [](auto& record, auto&& f) { each_request_path_column(record, f); };
constexpr auto kLatency = [](auto& record, auto&& f) { each_request_latency_column(record, f); };

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

}  // namespace

Result<> insert_orders(Database& db, std::int64_t run, const std::vector<OrderRecord>& orders) {
  return insert_rows(db, "request_order", run, orders, kOrder);
}

Result<std::vector<OrderRecord>> read_orders(Database& db, std::int64_t run) {
  std::vector<OrderRecord> found;
  BLKSWEEP_CHECK(read_rows(db, "request_order", run, found, kOrder));
  return found;
}

Result<> insert_attribution(Database& db, std::int64_t run, const AttributionRecord& a) {
  BLKSWEEP_CHECK(insert_rows(db, "request_class", run, a.classes, kClass));
  BLKSWEEP_CHECK(insert_rows(db, "request_path", run, a.paths, kPath));
  return insert_rows(db, "request_latency", run, a.latency, kLatency);
}

Result<Maybe<AttributionRecord>> read_attribution(Database& db, std::int64_t run) {
  AttributionRecord a;
  BLKSWEEP_CHECK(read_rows(db, "request_class", run, a.classes, kClass));
  BLKSWEEP_CHECK(read_rows(db, "request_path", run, a.paths, kPath));
  BLKSWEEP_CHECK(read_rows(db, "request_latency", run, a.latency, kLatency));
  return a.classes.empty() ? std::nullopt : Maybe<AttributionRecord>(std::move(a));
}

}  // namespace blksweep
