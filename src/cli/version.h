// What this program was built from, for the run record.
#pragma once

namespace blksweep {

const char* version();
const char* git_revision();  // "unknown" outside a checkout

}  // namespace blksweep
