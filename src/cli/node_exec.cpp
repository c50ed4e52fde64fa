#include "cli/verb.h"

namespace blksweep {

void add_node_exec(Verbs& /*verbs*/, CLI::App* /*node*/) {}

}  // namespace blksweep
