#include "cli/verb.h"

namespace blksweep {

void add_node_settings(Verbs& /*verbs*/, CLI::App* /*node*/) {}

}  // namespace blksweep
