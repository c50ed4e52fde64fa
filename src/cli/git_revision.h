// The git revision this program was built from, for the run record; "unknown" outside a checkout.
#pragma once

#include <string>

namespace blksweep {
std::string git_revision();
}
