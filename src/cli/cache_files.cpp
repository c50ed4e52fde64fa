#include "cli/verb.h"

namespace blksweep {

void add_cache_files(Verbs& /*verbs*/, CLI::App* /*cache*/) {}

}  // namespace blksweep
