// What became of the plan's order in the database: request_order.
//
// Errors:  as ResultStore. Threads: the owner of the database.
#pragma once

#include <vector>

#include "store/database.h"
#include "store/request_records.h"

namespace blksweep {

Result<> insert_orders(Database& db, std::int64_t run, const std::vector<OrderRecord>& orders);
// Without the distributions of displacement, which are histograms.
Result<std::vector<OrderRecord>> read_orders(Database& db, std::int64_t run);

}  // namespace blksweep
