#include "cli/verb.h"

namespace blksweep {

void add_cache_pin(Verbs& /*verbs*/, CLI::App* /*cache*/) {}

}  // namespace blksweep
