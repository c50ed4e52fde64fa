// Requests in the database: what became of the plan's order (request_order), and what they were for
// (request_class, request_path, request_extent, request_latency).
//
// Errors:  as ResultStore. Threads: the owner of the database.
#pragma once

#include <cstdint>
#include <vector>

#include "store/database.h"
#include "store/request_records.h"

namespace blksweep {

Result<> insert_orders(Database& db, std::int64_t run, const std::vector<OrderRecord>& orders);
// Without the distributions of displacement, which are histograms.
Result<std::vector<OrderRecord>> read_orders(Database& db, std::int64_t run);

Result<> insert_attribution(Database& db, std::int64_t run, const AttributionRecord& attribution);
Result<Maybe<AttributionRecord>> read_attribution(Database& db, std::int64_t run);

}  // namespace blksweep
