// blksweep node show: the settings of a device and of the node, and who has borrowed what.
#pragma once

#include "cli/verb.h"

namespace blksweep {

void add_node_show(Verbs& verbs, Command node);

}  // namespace blksweep
