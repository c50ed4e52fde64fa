#include "store/request_store.h"

#include <fmt/format.h>

#include "store/insert.h"
#include "store/request_columns.h"
#include "store/select.h"

namespace blksweep {
namespace {

constexpr const char* kTable = "request_order";

}  // namespace

Result<> insert_orders(Database& db, std::int64_t run, const std::vector<OrderRecord>& orders) {
  std::int64_t position = 0;
  for (const OrderRecord& o : orders) {
    Insert row(kTable);
    row("run_id", run);
    row("position", position++);
    each_order_column(o, row);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<std::vector<OrderRecord>> read_orders(Database& db, std::int64_t run) {
  ColumnNames names;
  OrderRecord none;
  each_order_column(none, names);
  BLKSWEEP_TRY(Statement query,
               db.prepare(fmt::format("SELECT {} FROM {} WHERE run_id = ? ORDER BY position",
                                      names.text(), kTable)));
  query.bind(run);
  std::vector<OrderRecord> found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    each_order_column(found.emplace_back(), RowReader(row));
  }));
  return found;
}

}  // namespace blksweep
