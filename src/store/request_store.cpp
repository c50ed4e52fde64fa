#include "store/request_store.h"

#include "store/record_rows.h"
#include "store/schema/request_columns.h"

namespace blksweep {
namespace {

// As each_order_column and its like, as values.
constexpr auto kOrder = [](auto& record, auto&& f) { each_order_column(record, f); };
constexpr auto kClass = [](auto& record, auto&& f) { each_request_class_column(record, f); };
constexpr auto kPath = [](auto& record, auto&& f) { each_request_path_column(record, f); };
constexpr auto kExtent = [](auto& record, auto&& f) { each_request_extent_column(record, f); };
constexpr auto kLatency = [](auto& record, auto&& f) { each_request_latency_column(record, f); };

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
  BLKSWEEP_CHECK(insert_rows(db, "request_extent", run, a.extents, kExtent));
  return insert_rows(db, "request_latency", run, a.latency, kLatency);
}

Result<Maybe<AttributionRecord>> read_attribution(Database& db, std::int64_t run) {
  AttributionRecord a;
  BLKSWEEP_CHECK(read_rows(db, "request_class", run, a.classes, kClass));
  BLKSWEEP_CHECK(read_rows(db, "request_path", run, a.paths, kPath));
  BLKSWEEP_CHECK(read_rows(db, "request_extent", run, a.extents, kExtent));
  BLKSWEEP_CHECK(read_rows(db, "request_latency", run, a.latency, kLatency));
  return a.classes.empty() ? std::nullopt : Maybe<AttributionRecord>(std::move(a));
}

}  // namespace blksweep
