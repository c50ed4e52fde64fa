// What a spec's rig lacks: what is to be made, and the disk space and memory for it. Looks only.
//
// Errors:  none; what cannot be looked at counts as missing.
// Threads: pure but for the look.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "rig/settings.h"

namespace blksweep {

struct RigNeeds {
  std::vector<std::string> to_make;  // "disk fast (2 GiB, ext4)", "fast, small"
  Bytes space, free;                 // in the working folder; a packed set counts as its source
  Bytes memory;                      // of the largest emulated disk
};
RigNeeds needs_of(const RigSettings& rig);

}  // namespace blksweep
