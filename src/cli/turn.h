// One campaign at a time writes to a results database: two would store each run twice, and disturb
// each other's.
//
// Errors: interrupted, when Ctrl-C came while waiting.
#pragma once

#include <string>

#include "base/result.h"
#include "store/result_store.h"

namespace blksweep {

// Until the one that has it ends; told on stderr. Held as long as the store lives.
Result<> wait_for_turn(ResultStore& store, const std::string& db);

}  // namespace blksweep
